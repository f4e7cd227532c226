"""Chapter 10: tokenizer.json of other people's Llamas, and what the library tokenizers makes of texts with them.

    python tests/golden/10_others.py            writes foreign_tokenizers/ again
    python tests/golden/10_others.py --check    computes it anew and compares it with what is committed

Each vocabulary is trained here, on the texts of 10_tokenizer.py, to be small and to have what the folders of some models have:
their normalizers, pre-tokenizers, decoders and added tokens. expected.json holds the ids of some texts, and the text of some ids.
split.gguf has a vocabulary for every way to split a text that GGUF files name, and splits.json what each of them makes of texts.
"""
import importlib
import importlib.metadata
import json
import random
import sys

from golden import HERE
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

golden = importlib.import_module("10_tokenizer")
FOLDER = HERE / "foreign_tokenizers"

# --- Texts ---------------------------------------------------------------------------------------------------

KINDS = [" ", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\u200b", "▁", "▁▁", "a", "the", "The", " llama", "ing", "I'm", "'s", "'LL", "don't",
         "0", "12", "2025", "3.14", "٣٤", "ⅻ", "½", "一", "羊驼", "语言模型", "ラマ", "라마", "Größe", "STRASSE", "É", "e\u0301", "\u1e9b\u0323", "ﬁ", "①", "Å",
         "İstanbul", "ΣΑΣ", "Лама", "اللاما", "हिन्दी", "ﷺ", "㌀", "가\u11a8", "\u1100\u1161\u11a8", "q\u0323\u0307", "q\u0307\u0323", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "𝕳",
         "\U00031350", "\u1c8a", "\U00010d40", "\U00011de3", "\u2e43", "\u166d", "\U00011c42", "\u1df9\u0301", "\ua7f2", "\ufffd", "\x00", "\x7f", "_", "-", "---", ".", "...", ",", "!?", "(", ")", "[", "]", "{}", "#", "@",
         "<", ">", "<0x0A>", "<0x41>", "<unk>", "<s>", "</s>", "<mask>", "<word>", "<left>", "<right>", "<both>", "<sep>", "[INST]", "[/INST]", "<|im_start|>",
         "<|im_end|>", "<A>", "<a>", "ⓐ", "²", "\u200d", "ａ", "ⅷ", "ſ", "K"]


def difficult(chance, names=()):
    """Parts that are hard on some step, one after the other, some of them again and again."""
    parts = []
    for _ in range(chance.randint(0, 14)):
        kind = chance.random()
        if kind < 0.75:
            part = chance.choice([*KINDS, *names])
        elif kind < 0.85:
            part = chance.choice(golden.ENGLISH.split(" "))
        elif kind < 0.95:
            part = chr(chance.choice([chance.randint(0, 0x7ff), chance.randint(0x800, 0xd7ff), chance.randint(0xe000, 0x1ffff), chance.randint(0x20000, 0x32000)]))
        else:
            part = chance.choice(KINDS) * chance.randint(2, 9)
        parts.append(part)
    return "".join(parts)


# --- Vocabularies ----------------------------------------------------------------------------------------------

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def named(*names, **flags):
    return [AddedToken(name, **{"normalized": False} | flags) for name in names]


FLAGGED = [*named("<mask>", lstrip=True, special=True), *named("<word>", single_word=True), *named("<left>", lstrip=True), *named("<right>", rstrip=True),
           *named("<both>", lstrip=True, rstrip=True, special=True)]
NORMALIZED = [*named("[INST]", "<A>", normalized=True), *named("<sep>", normalized=True, special=True), *named("<word>", normalized=True, single_word=True),
              *named("<left>", normalized=True, lstrip=True), *named("<right>", normalized=True, rstrip=True)]
LLAMA = [*named("<unk>", "<s>", "</s>", special=True)]


def train(size, normalizer=None, pre_tokenizer=None, decoder=None, special=(), more=(), initial=(), corpus=golden.CORPUS, **model):
    """`special` are in the model's vocabulary, `more` behind it."""
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder:
        tokenizer.decoder = decoder
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=list(initial), show_progress=False,
                                  limit_alphabet=400)
    tokenizer.train_from_iterator(corpus, trainer)
    for token in more:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def without(tokenizer, *names):
    """Without these tokens in the model, and others in their place, which nothing becomes."""
    settings = json.loads(tokenizer.to_str())
    vocab = settings["model"]["vocab"]
    for name in names:
        vocab[f"gone {name}"] = vocab.pop(name)
    settings["model"]["merges"] = [pair for pair in settings["model"]["merges"] if pair[0] in vocab and pair[1] in vocab and "".join(pair) in vocab]
    return Tokenizer.from_str(json.dumps(settings))


def byte_level(size, *steps, use_regex=False, prefix=False, **more):
    steps = [*steps, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)]
    return train(size, pre_tokenizer=pre_tokenizers.Sequence(list(steps)), decoder=decoders.ByteLevel(), initial=ALPHABET, **more)


def byte_level_first(size, *steps, **more):
    return train(size, pre_tokenizer=pre_tokenizers.Sequence(list(steps)), decoder=decoders.ByteLevel(), initial=ALPHABET, **more)


def split(pattern, behavior, invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior=behavior, invert=invert)


def fallback(size, normalizer, pre_tokenizer=None, strip=True, **more):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *([decoders.Strip(" ", 1, 0)] if strip else [])]
    return train(size, normalizer, pre_tokenizer or pre_tokenizers.Metaspace(prepend_scheme="never", split=True), decoders.Sequence(steps),
                 special=[*LLAMA, *BYTES], unk_token="<unk>", byte_fallback=True, **more)


def after_training(tokenizer, pre_tokenizer=None, normalizer=None, decoder=None):
    settings = json.loads(tokenizer.to_str())
    settings["pre_tokenizer"] = pre_tokenizer and json.loads(pre_tokenizer.__getstate__())
    if normalizer:
        settings["normalizer"] = json.loads(normalizer.__getstate__())
    if decoder:
        settings["decoder"] = json.loads(decoder.__getstate__())
    settings["added_tokens"] = [token for token in settings["added_tokens"] if not token["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(settings))


LLAMA_NORMALIZER = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def vocabularies():
    """As the folders of these have it, more or less; then what is left of the steps."""
    metaspace = pre_tokenizers.Metaspace
    yield "smollm", byte_level(420, pre_tokenizers.Digits(individual_digits=True), use_regex=True, special=named("<|im_start|>", "<|im_end|>", special=True))
    yield "gpt2", byte_level(420, use_regex=True, prefix=True, more=FLAGGED)
    yield "deepseek", byte_level(420, split("[\r\n]", "isolated"), split(r"\s?\p{L}+", "isolated"), split(r"\s?\p{P}+", "isolated"),
                                 split("[一-龥ࠀ-一가-\ud7ff]+", "isolated"), pre_tokenizers.Digits(individual_digits=True), normalizer=normalizers.Sequence([]), more=NORMALIZED)
    yield "o200k", byte_level(420, split(O200K, "isolated"), ignore_merges=True, more=[*FLAGGED, *LLAMA])
    prepend = fallback(520, LLAMA_NORMALIZER, more=NORMALIZED, fuse_unk=True)
    yield "llama_normalized", after_training(prepend)
    flagged = fallback(520, LLAMA_NORMALIZER, more=[*FLAGGED, *named("[INST]", "<A>")], fuse_unk=True)
    yield "llama_flags", after_training(flagged)
    yield "llama_few_bytes", without(after_training(flagged), "<0xF0>", "<0xE2>", "<0x0A>")
    yield "metaspace_split", after_training(flagged, metaspace(prepend_scheme="first", split=True), normalizers.Sequence([normalizers.NFC()]),
                                            decoders.Metaspace(prepend_scheme="first"))
    yield "lowercase", train(420, normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s+"), " ")]),
                             pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)]),
                             special=named("<unk>", special=True), unk_token="<unk>", fuse_unk=True, more=NORMALIZED)
    yield "decomposed", train(420, normalizers.NFKD(), pre_tokenizers.WhitespaceSplit(), special=named("<unk>", special=True), unk_token="<unk>", more=FLAGGED)
    yield "falcon", byte_level_first(420, pre_tokenizers.Punctuation(behavior="contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                     pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]", "isolated"))
    yield "first", after_training(flagged, pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), metaspace(prepend_scheme="first", split=True)]),
                                  normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), "▁"), normalizers.Replace("a", "")]),
                                  decoders.Metaspace(prepend_scheme="first"))
    yield "bloom", byte_level(420, split(r" ?[^(\s|[.,!?…。，、।۔،])]+", "isolated"), pre_tokenizers.Digits(individual_digits=True), more=FLAGGED)
    yield "merged", byte_level(400, split(r"\s+", "merged_with_next"), split(r"[.,!?]", "merged_with_previous"), split(r"\d+", "contiguous"),
                               split("'", "removed"), normalizer=normalizers.NFD())
    yield "blanks", byte_level(380, use_regex=True, more=named("\n", "\t", " \n", lstrip=True, rstrip=True))


# --- GGUF files --------------------------------------------------------------------------------------------------

ENDINGS, WORD, LINES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\s*[\r\n]+|\s+(?!\S)|\s+"
SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
CJK = "[一-龥ࠀ-一가-\ud7ff]+"
CASED = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57"
         "\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
         "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214eↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿ"
         "ﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")


def isolated(*patterns):
    return [split(pattern, "isolated") for pattern in patterns]


def gguf_splits():
    """tokenizer.ggml.pre -> the steps of a tokenizer.json before ByteLevel, whether that has GPT-2's pattern, and ignore_merges. Of names
    that mean the same, all; each model's own tokenizer.json has these steps, or llama.cpp documents them."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    gpt2 = split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "isolated")
    llama3 = isolated(golden.PATTERN)
    tekken = O200K.replace(f"{ENDINGS}?", "").replace(r"\p{N}{1,3}", r"\p{N}")
    return {
        "llama-bpe llama3 llama-v3 falcon3 pixtral midm-2.0 smaug-bpe": (llama3, False, True),
        "dbrx": (llama3, False, False),
        "gpt-2 mpt olmo jais trillion exaone4": ([], True, False),
        "smollm starcoder refact command-r codeshell minerva-7b": ([digits], True, False),
        "default": ([*isolated(r"[\p{P}$+<=>^~|]+"), gpt2, *isolated(r"\p{N}+", "[0-9][0-9][0-9]")], False, False),
        "falcon": ([*isolated(r"[\p{P}$+<=>^~|`]+"), gpt2, *isolated("[0-9][0-9][0-9]")], False, False),
        "qwen2 stablelm2 megrez": (isolated(rf"{ENDINGS}|{WORD}|\p{{N}}|{SIGNS}|{LINES}"), False, False),
        "deepseek-llm": (isolated("[\r\n]", rf"\s?[{CASED}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", CJK, r"\p{N}+"), False, False),
        "deepseek-coder": ([*isolated("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK), digits], False, False),
        "deepseek-v3 hunyuan-dense": (isolated(r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
                                               + LINES), False, False),
        "tekken": (isolated(tekken), False, True),
        "gpt-4o llama4": (isolated(O200K), False, False),
        "seed-coder": (isolated(rf"{ENDINGS}|{WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{LINES}"), False, False),
        "minicpm5": (isolated(r"\p{N}{1,3}", rf"{ENDINGS}|{WORD}|\p{{N}}+|{SIGNS}|{LINES}"), False, True),
        "bloom poro-chat gpt3-finnish": (isolated(r" ?[^(\s|[.,!?…。，、।۔،])]+"), False, False),
        "viking": ([*isolated(r" ?[^(\s|[.,!?…。，、।۔،])]+"), digits], False, False),
    }


# What some of the splits cut and others do not.
CUT = ["camelCase", "HTMLParser", "aB", "Ab", "AB", "ab", "x's", "x'S", "x'LL", "'ll", "don't", "//\n", "/\n", "/", ".\n", ")\n", "\r\n", "\n", "\n\n", "  ", "   ", "\t", " ", "1", "12", "123",
       "1234", "12345678", "$", "$1", "+1", "=", "<", "`x`", "`", "(x", ")", ".a", " .b", ",", "!", "…", "—x", "“", "e\u0301", "a\u0301b", "\u0301", "、", "。", "我", "们的", "ひ", "カナ", "가",
       "나다", "ΑΒ", "Αβ", "ὀδός", "ж", "Жук", "ǅa", "ʰ", "ª", "א", "ابت", "ไทย", "²", "½", "٣", "Ⅷ", "€", "^", "|", "~", "_a", "a_b", "😀", "\u00a0", "\u3000", "the", " of", "Mia", "\u2126", "\u1f7d", "K"]


def cut_text(chance, parts=CUT):
    return "".join(chance.choice(parts) * (1 if chance.random() < 0.9 else chance.randint(2, 5)) for _ in range(chance.randint(1, 16)))


def gguf_vocabulary(lonely=True):
    """A vocabulary whose tokens do not stop where any of these splits does: any difference in the splits is one in the ids. To some of
    its tokens no merges lead."""
    chance = random.Random(13)
    special, more = named("<|endoftext|>", "<|im_start|>", "<|im_end|>", special=True), named("<tool>", "  \n  ")
    tokenizer = byte_level(2600, split(r"[\s\S]{1,7}", "isolated"), special=special, more=more, corpus=[cut_text(chance) for _ in range(6000)])
    settings = json.loads(tokenizer.to_str())
    settings["model"]["merges"] = [merge for i, merge in enumerate(settings["model"]["merges"]) if i % 5 or not lonely]
    return Tokenizer.from_str(json.dumps(settings))


def with_split(tokenizer, steps, use_regex, ignore_merges):
    settings = json.loads(tokenizer.to_str())
    settings["model"]["ignore_merges"] = ignore_merges
    steps = pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)])
    return after_training(Tokenizer.from_str(json.dumps(settings)), steps)


def gguf_pairs(tokenizer):
    """What a GGUF file says of the tokenizer, but for how it splits text."""
    settings, added = json.loads(tokenizer.to_str()), tokenizer.get_added_tokens_decoder()
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    return dict(token_list=names, token_types=[1 if i not in added else 3 if added[i].special else 4 for i in range(len(names))],
                token_merges=[" ".join(merge) for merge in settings["model"]["merges"]], eos_token_id=names.index("<|im_end|>"))


# --- The file ----------------------------------------------------------------------------------------------------

def answers(tokenizer, texts, lists):
    def ids(text, special):
        tokenizer.encode_special_tokens = not special
        return tokenizer.encode(text, add_special_tokens=False).ids
    plain, special = [ids(text, False) for text in texts], [ids(text, True) for text in texts]
    return {"ids": plain, "special": [its if its != other else None for its, other in zip(special, plain)],
            "decoded": [[its, decode(tokenizer, its)] for its in lists]}


def decode(tokenizer, ids):
    """As ours does: at byte level special tokens are their names."""
    return tokenizer.decode(ids, skip_special_tokens=not isinstance(tokenizer.decoder, decoders.ByteLevel))


def in_gguf_files(chance):
    """A GGUF file without a name for its split; and what each name makes of texts."""
    tokenizer = gguf_vocabulary()
    texts = ["", *(cut_text(chance, [*CUT, "<tool>", "  \n  ", "<|im_end|>"]) for _ in range(40)), *(difficult(chance) for _ in range(20))]
    splits = {names: answers(with_split(tokenizer, *steps), texts, []) for names, steps in gguf_splits().items()}
    return {"split.gguf": golden.gguf_file(tokenizer_model="gpt2", **gguf_pairs(tokenizer)), "splits.json": golden.compact({"texts": texts, "splits": splits})}


def beside_a_model(chance):
    """A tokenizer.model to which its folder adds tokens: what transformers makes of it, which the library tokenizers then runs. Bytes
    and <unk> are decoded as sentencepiece has it."""
    tokenizer = golden.convert((HERE / "tokenizers/sentencepiece/tokenizer.model").read_bytes(), True)
    tokenizer.add_special_tokens(named("<|im_start|>", "<|im_end|>", special=True))
    size, added = tokenizer.get_vocab_size(), tokenizer.get_added_tokens_decoder()
    texts = ["", *(difficult(chance, [token.content for token in added.values()]) for _ in range(60))]
    lists = [[chance.choice([chance.randrange(259, size), *range(size - 4, size)]) for _ in range(chance.randint(1, 12))] for _ in range(12)]
    decoder = {str(id): {"content": token.content, "special": token.special, "normalized": token.normalized} for id, token in added.items()}
    return {"added_tokens_decoder": decoder, "texts": texts} | answers(tokenizer, texts, lists)


def with_a_character_map(chance):
    """tokenizers/mapped/tokenizer.model, of texts with what it maps and removes."""
    library = golden.SentencePiece((HERE / "tokenizers/mapped/tokenizer.model").read_bytes())
    names = ["ﬁ", "①", "\u3000", "\u00a0", "Ａ", "e\u0301", "e\u0301.", "e", "\u200b", "가\u11a8", " ", "  ", " \n", "▁", "the", " a"]
    texts = ["", *names, *("".join(chance.choice(names) for _ in range(chance.randint(2, 7))) for _ in range(60)), *(difficult(chance, names) for _ in range(20))]
    lists = [[chance.randrange(560) for _ in range(chance.randint(1, 9))] for _ in range(12)]
    return {"texts": texts, "ids": [library.encode(text) for text in texts], "special": [None for _ in texts],
            "decoded": [[its, library.decode(its)] for its in lists]}


def compute():
    chance, files, expected = random.Random(10), {}, {"version": importlib.metadata.version("tokenizers")}
    for name, tokenizer in vocabularies():
        settings = json.loads(tokenizer.to_str())
        size = len(tokenizer.get_vocab())
        texts = ["", *(["\n\n", "a\n \t\nb", "\n\n\n"] if name == "blanks" else []), *(difficult(chance) for _ in range(40))]
        lists = [[chance.randrange(size) for _ in range(chance.randint(1, 12))] for _ in range(12)]
        files[f"{name}.json"] = golden.compact(settings)
        forms = any(word in json.dumps(settings["normalizer"]) for word in ("NF", "Lowercase"))
        expected[name] = {"normal_forms": forms, "texts": texts} | answers(tokenizer, texts, lists)
    files |= in_gguf_files(random.Random(14))
    expected["beside_a_model"], expected["mapped"] = beside_a_model(chance), with_a_character_map(chance)
    return files | {"expected.json": golden.compact(expected)}


def main():
    files = compute()
    if "--check" not in sys.argv[1:]:
        FOLDER.mkdir(exist_ok=True)
        for name, data in files.items():
            (FOLDER / name).write_bytes(data)
            print(f"foreign_tokenizers/{name:28} {len(data) / 1000:6.1f} kB")
        return 0
    failed = 0
    for name in sorted({path.name for path in FOLDER.iterdir()} | files.keys()):
        same = name in files and (FOLDER / name).exists() and (FOLDER / name).read_bytes() == files[name]
        print(f"{'ok  ' if same else 'FAIL'} foreign_tokenizers/{name}")
        failed += not same
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
