"""Are the tokenizer's ids those of the libraries, whatever the text?

    make check-tokenizers

Every code point of Unicode goes through a vocabulary that shows which of them tiktoken takes for letters and for digits. And each
tokenizer.json of tests/golden/10_others.py, and others whose steps are drawn at random, encodes thousands of difficult strings and
decodes lists of ids beside the library tokenizers.
"""
import array
import base64
import importlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STRINGS, LISTS, DRAWN = 5000, 2000, 100


def golden(name="10_tokenizer"):
    """tests/golden/10_tokenizer.py, which knows how the libraries are called."""
    sys.path.insert(0, str(HERE.parent / "golden"))
    return importlib.import_module(name)


def ours(program, model, folder, many):
    """The ids of each text, of bytes, and the seconds."""
    with open(folder / "texts", "wb") as file:
        for text in many:
            file.write(len(text).to_bytes(4, sys.byteorder) + text)
    printed = subprocess.run([program, model, folder / "texts", folder / "ids"], check=True, capture_output=True, text=True).stdout
    numbers = array.array("i", (folder / "ids").read_bytes())
    ids, at = [], 0
    for _ in many:
        ids.append(numbers[at + 1 : at + 1 + numbers[at]].tolist())
        at += 1 + numbers[at]
    return ids, float(printed)


ENCODE, ENCODE_SPECIAL, DECODE = range(3)


def answers(program, model, folder, questions):
    """To (what, a text of bytes or a list of ids): ids, or bytes."""
    with open(folder / "questions", "wb") as file:
        for what, asked in questions:
            numbers = array.array("i", [what, len(asked)] + (asked if what == DECODE else []))
            file.write(numbers.tobytes() + (b"" if what == DECODE else asked))
    run = subprocess.run([program, model, folder / "questions", folder / "answers"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{model}: {run.stderr}")
    data, at = (folder / "answers").read_bytes(), 0
    for what, _ in questions:
        size = int.from_bytes(data[at : at + 4], sys.byteorder) * (1 if what == DECODE else 4)
        part, at = data[at + 4 : at + 4 + size], at + 4 + size
        yield part if what == DECODE else array.array("i", part).tolist()


def every_code_point(program, folder, golden):
    """A letter makes one word with the letter before it, and a digit with the digit: of both there are tokens."""
    import tiktoken
    characters = [chr(point) for point in range(0x80, 0x110000) if not 0xd800 <= point < 0xe000]
    texts = [before + c for c in characters for before in ("a", "1")]
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in texts]
    encoding = tiktoken.Encoding("every", pat_str=golden.PATTERN, mergeable_ranks={token: i for i, token in enumerate(tokens)}, special_tokens={})
    model = folder / "every"
    model.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), i) for i, token in enumerate(tokens)))
    ids = answers(program, model, folder, [(ENCODE, text.encode()) for text in texts])
    wrong = [text for text, its in zip(texts, ids) if its != encoding.encode_ordinary(text)]
    print(f"{len(characters)} code points behind a letter and behind a digit: {len(wrong)} are split otherwise than by tiktoken",
          *(f"U+{ord(text[1]):04X}" for text in wrong[:5]))
    return len(wrong)


def compare(program, folder, name, tokenizer, others, chance, strings, lists):
    """Ours beside the library's: how many of the strings and lists have another answer."""
    path = folder / "tokenizer.json"
    path.write_text(tokenizer.to_str())
    names = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    size = max(tokenizer.get_vocab().values()) + 1
    questions = [(what, others.difficult(chance, names).encode()) for _ in range(strings) for what in (ENCODE, ENCODE_SPECIAL)]
    questions += [(DECODE, [chance.randrange(size) for _ in range(chance.randint(0, 9))]) for _ in range(lists)]
    wrong = []
    for (what, asked), answer in zip(questions, answers(program, path, folder, questions)):
        if what == DECODE:
            right = others.decode(tokenizer, asked).encode()
        else:
            tokenizer.encode_special_tokens = what == ENCODE
            right = tokenizer.encode(asked.decode(), add_special_tokens=False).ids
        if answer != right:
            wrong.append((what, asked, answer, right))
    print(f"{name}: of {2 * strings} strings and {lists} lists of ids {len(wrong)} have other answers than from tokenizers", flush=True)
    for case in sorted(wrong, key=lambda case: len(case[1]))[:2]:
        print("   ", *case)
    return len(wrong)


def draw(chance, others):
    """A tokenizer.json of steps that nobody ever put together."""
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers
    n, p, d = normalizers, pre_tokenizers, decoders
    patterns = [r"\s+", r"\d", r"\w+", r"[^\s\w]+", "[aeiou]", r"\p{Lu}", r"\p{N}{1,3}", "▁", "(?i:the)", r"(?<=a)\S", r"x*", r"\s+$", "^.", r"\p{M}+", r"(?:a|the)\b"[:-2],
                r"[一-龥]", r"\p{Han}+", r"\p{P}", r"\S+(?=\s)"]
    behaviors = ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]
    def pattern():
        return Regex(chance.choice(patterns)) if chance.random() < 0.8 else chance.choice([" ", "the", "a", "▁", ".", "12"])
    def scheme():
        return chance.choice(["always", "never", "first"])
    normalizer = [lambda: chance.choice([n.NFC, n.NFD, n.NFKC, n.NFKD])(), n.Lowercase, lambda: n.Prepend(chance.choice(["▁", "x", " ", "é"])),
                  lambda: n.Replace(pattern(), chance.choice(["▁", "", " ", "ab"]))]
    pre_tokenizer = [lambda: p.Split(pattern(), behavior=chance.choice(behaviors),
                                     invert=chance.random() < 0.2), lambda: p.Digits(individual_digits=chance.random() < 0.5), lambda: p.Punctuation(behavior=chance.choice(behaviors)), p.Whitespace, p.WhitespaceSplit,
                     lambda: p.Metaspace(prepend_scheme=scheme(), split=chance.random() < 0.5),
                     lambda: p.ByteLevel(add_prefix_space=chance.random() < 0.5, use_regex=chance.random() < 0.5)]
    decoder = [d.ByteLevel, d.ByteFallback, d.Fuse, lambda: d.Replace(chance.choice(["▁", " ", "a"]), chance.choice([" ", "", "bb"])),
               lambda: d.Strip(chance.choice([" ", "a", "▁"]), chance.randint(0, 2), 0), lambda: d.Metaspace(prepend_scheme=scheme())]
    def sequence(of, kinds, most):
        steps = [chance.choice(kinds)() for _ in range(chance.randint(0, most))]
        steps.sort(key=lambda step: type(step).__name__ in ("Prepend", "Replace"))  # a normal form behind these makes the library panic
        return of(steps) if len(steps) != 1 else steps[0]
    model = dict(chance.choice([dict(unk_token="<unk>"), dict(unk_token="<unk>", fuse_unk=True), dict(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                                dict(unk_token="<unk>", byte_fallback=True)]), ignore_merges=chance.random() < 0.3)
    special = [*others.LLAMA, *(chance.sample(others.BYTES, chance.choice([256, 200])) if "byte_fallback" in model else [])]
    more = chance.sample([*others.FLAGGED, *others.NORMALIZED[:3], *others.named("  ", " the", "▁", "\n", "é")], chance.randint(0, 7))
    initial = others.ALPHABET if chance.random() < 0.5 else []
    steps, before = sequence(p.Sequence, pre_tokenizer, 3), sequence(n.Sequence, normalizer, 3)
    tokenizer = others.train(700, before, steps, sequence(d.Sequence, decoder, 3), special=special, initial=initial, more=more, **model)
    return others.after_training(tokenizer, steps)


def all_others(program, folder):
    others, chance = golden("10_others"), random.Random(12)
    wrong = sum(compare(program, folder, name, tokenizer, others, chance, STRINGS, LISTS) for name, tokenizer in others.vocabularies())
    return wrong + sum(compare(program, folder, f"drawn {i}", draw(random.Random(i), others), others, chance, STRINGS // 10, LISTS // 10) for i in range(DRAWN))


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong = every_code_point(program, folder, golden()) + all_others(program, folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
