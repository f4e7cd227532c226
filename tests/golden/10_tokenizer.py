"""Chapter 10: vocabularies, and the ids that the libraries themselves give.

    python tests/golden/10_tokenizer.py            writes tokenizers/ anew
    python tests/golden/10_tokenizer.py --check    computes it anew and compares it with what is committed

Small vocabularies are trained here, on the texts below, by sentencepiece (with the options of Llama 2's) and tokenizers
(with Meta's split pattern), and written in every format that a Llama's tokenizer comes in:

    sentencepiece/tokenizer.model     SentencePiece's protobuf
    user_defined/tokenizer.model      the same with user-defined and control pieces
    mapped/tokenizer.model            the same with a character map, and without spaces that need not be
    prepend/tokenizer.json            Hugging Face's JSON with Prepend and Replace, as most Llama 2 folders have it
    metaspace/tokenizer.json          ... with Metaspace, as transformers 5 writes it
    tiktoken/tokenizer.model          tiktoken's ranks
    byte_level/tokenizer.json         Hugging Face's JSON at byte level, with the merges of its trainer
    user_defined.gguf                 user_defined and byte_level once more, as llama.cpp's converter writes a tokenizer
    byte_level.gguf                   into a GGUF file: their ids are the same

expected.json holds for each of them, and for Llama 2's and Llama 3's own files and the .bin of stories260K where LLAMA_DATA
or ../shared/data has them, what each text below is encoded to and what some ids are decoded to.

The two steps of training a byte pair encoding, and merging a text with one, are kernels: golden.py writes their files.
"""
import base64
import importlib.metadata
import io
import json
import os
import struct
import sys
import tempfile
from pathlib import Path

from golden import HERE, Kernel
import gguf
import sentencepiece
import tiktoken
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

FOLDER = HERE / "tokenizers"
DATA = Path(os.environ.get("LLAMA_DATA", HERE.parent.parent / ".." / "shared" / "data"))
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")

# --- What the vocabularies are trained on ------------------------------------------------------------------

ENGLISH = """
The llama is an animal of the Andes. It lives in herds and carries loads over the mountains, and it has done so for
thousands of years. Its wool is soft and warm. When a llama is angry, it spits; when it is tired, it lies down and
will not get up again until it wants to. People of the mountains say that a llama knows how much it can carry: put
one stone too many on its back and it will sit down in the middle of the road.

A language model reads a text from left to right and says at every place what comes next. It does not see letters.
What it sees is a list of numbers, and each number stands for a piece of text: a word, the beginning of a word, a
single letter, a comma, a few spaces. The list of all pieces is called the vocabulary, and a program that cuts a text
into pieces is called a tokenizer. The pieces are chosen once, before the model is trained, and they never change
after that, because every number in the model depends on them.

How are the pieces chosen? One begins with single letters, counts which two of them stand side by side most often,
and makes a new piece of those two. Then one counts again. In an English text the letters t and h are together so
often that th is soon a piece, then the, and then the with the space before it. After some thousand steps whole words
are pieces, and what is rare is still put together from smaller ones. Nothing is ever unknown, because in the end
there are always the single letters, or the bytes that letters are made of.

In the morning the children went to the river. They had bread and water with them, and the old man showed them where
the fish were. "Look there," he said, "under the stone. If you don't move, they'll come." The youngest one couldn't
wait and threw a stone into the water. All the fish were gone. They laughed, and the man laughed with them, for he
had done the same when he was a child. It's not the fish that we've come for, he thought; it's the morning.

There were 12 of them in 1998, 144 in 2004 and 2025 in the year 2025. The price was 3.50 at first, then 4.75, and in
the end nobody paid more than 0.99 for it. Call 555-0199 between 9:00 and 17:30, or write to nobody@example.com.

The attention layer computes the scores of all queries and keys, divides them by the root of the head's width, and
takes the softmax of each row. The feed-forward layer multiplies with two matrices, applies the activation function to
one of the results, multiplies both and projects the product back. The output of each layer is added to its input.
"""
CHINESE = """
羊驼是生活在安第斯山脉的动物。它们成群生活，能够在山里背着东西走很远的路。山里的人们说，羊驼知道自己能背多少东西：如果多放一块石头，
它就会在路中间坐下来，不再走了。
语言模型从左到右阅读文本，在每一个位置预测下一个词。它看到的不是文字，而是一串数字。每一个数字代表一段文本：一个词，一个字，一个标点，
或者几个空格。所有这些片段的集合叫做词表，把文本切成片段的程序叫做分词器。词表在训练模型之前就已经确定，之后不再改变。
今天天气很好，我们去河边看鱼。老人说，你们不要动，鱼就会过来。孩子们笑了，老人也笑了。
"""
CODE = """
int main(int argc, char **argv) {
    int count = 0;
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '-') count++;
        else printf("%s\\n", argv[i]);
    }
    return count > 0 ? 1 : 0;
}

static void add(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] += x[i];
}

def softmax(x):
    m = max(x)
    e = [math.exp(v - m) for v in x]
    return [v / sum(e) for v in e]

class Model:
    def __init__(self, config):
        self.config = config
        self.layers = [Layer(config) for _ in range(config.layers)]

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.norm(x)
"""
OTHERS = """
Das Lama lebt in den Anden. Größe und Wärme, Straße und Fluß: überall schöne Wörter.
Le lama vit dans les Andes. L'été, il mange de l'herbe; l'hiver, où va-t-il? Ça dépend.
Лама живёт в Андах. Она спокойная и сильная, и люди её любят.
ラマはアンデスに住んでいます。とても優しい動物です。
라마는 안데스에 삽니다. 매우 온순한 동물입니다.
اللاما تعيش في جبال الأنديز.
Η λάμα ζει στις Άνδεις.
"""
CORPUS = [line for text in (ENGLISH, CHINESE, CODE, OTHERS) for line in text.strip("\n").split("\n")]

# --- What is encoded ---------------------------------------------------------------------------------------

WORDS = """
Hello|hello world|The llama's wool is soft.|I'll say we've been there; they'd know it's THEY'RE, I'M, DON'T and 'S|'sſ 'ſ ſ
don't 'tis 'twas o'clock|naïve café Ångström|Größe, Straße, überall|Лама живёт в Андах.|Η λάμα ζει στις Άνδεις
羊驼是生活在安第斯山脉的动物。|今天天气很好|ラマはアンデスに住んでいます|라마는 안데스에 삽니다.|اللاما تعيش في جبال الأنديز
עברית לבדיקה|हिन्दी में परीक्षण|ภาษาไทย|தமிழ் மொழி|Tiếng Việt có dấu|ქართული ენა|Ελληνικά|አማርኛ|ខ្មែរ|မြန်မာ
0|7|42|123|1234|12345|123456|1234567890|3.14159265358979|1,000,000.00|0x1F 0b101 1e-5|٣٤٥٦ ४५६७ ⅻ ½ ²³|2025-01-31T23:59:60Z
int main(void) { return 0; }|for (int i = 0; i < n; i++) out[i] += x[i];|if(a&&b||!c){x^=~y;}|#include <stdio.h>|a->b.c[d]{e}(f)
x = {'a': [1, 2.5, None], "b": lambda q: q**2}|<html><body class="x">&nbsp;</body></html>|\\frac{a}{b}|$HOME/.bashrc|C:\\Users\\llama
😀|😀😃😄|👨‍👩‍👧‍👦|👍🏽 ok 👍|🏳️‍🌈|🇩🇪🇫🇷|❤️ ♥|a😀b|ⒶⒷ①②|𝕳𝖊𝖑𝖑𝖔|𐍈𐍉|é|é|Z̷̢̛a̸l̵g̶o̴|ﬁ ﬂ ﬃ|Å Å Å|İ ı
▁|▁▁|a▁b|▁a ▁ b▁|_ __ ___|�|a�b|﻿BOM|zero​width‍joiner⁠x|soft­hyphen|‮right to left‬|…—–‘’“”„«»
<s>|</s>|<unk>|<0x0A>|<s>hello</s>|<|begin_of_text|>|<|eot_id|>|a<|eot_id|>b|<|start_header_id|>user<|end_header_id|>|<|end_of_text|
aaaa|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|abababababababab|thethethethe|the the the|that this those there then|llamallamallama
ATTENTION Is All You NEED|camelCaseWords snake_case_words kebab-case-words|supercalifragilisticexpialidocious|antidisestablishmentarianism
http://example.com/path?query=1&other=2#frag|nobody@example.com|555-0199|@user #tag|!!!???...|---===---|***bold*** _it_|~!@#$%^&*()_+
"""
TEXTS = [text for line in WORDS.strip("\n").split("\n") for text in line.replace("<|", "\1").replace("|>", "\2").split("|")]
TEXTS = [text.replace("\1", "<|").replace("\2", "|>") for text in TEXTS]
TEXTS += ["", " ", "  ", "   ", " " * 7, " " * 16, " " * 33, " a", "  a", "   a", "a ", "a  ", "a   ", " a b  c   d    e ", "\t", "\t\t",
          "\ta", " \ta", "\t a", "a\tb", "a \t b", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", "a\nb", "a\n\nb", "a\r\nb", " \n ",
          "  \n  a", "a \n b", "a\n  b\n    c\n", "a.\n\n\nb", "if x:\n    return\n\n\nelse:\n\tpass\n", "  \n\n\t \r\n x", "1 2  3   4",
          "a1b22c333d4444", " 1", "  12", "$1234.56 ", "\x0b\x0c", "a\x0bb\x0cc", "\x85a\u0085", "\xa0nbsp\xa0\xa0x", "\u1680\u2000\u2003x\u200a",
          "\u2028line\u2029para", "\u202f\u205f\u3000wide\u3000", "\u180emongolian\u180e x", "\u200b \u200b", "\0", "a\0b", "\0\0\0", "\x01\x02\x1f\x7f",
          "\x1b[31mred\x1b[0m", "x" * 100, "the quick brown fox jumps over the lazy dog " * 3, "\ue000\uf8ff\U000f0000\U0010ffff", "\ufffe\uffff",
          "\U00020000\U0002a6df𠮷", ENGLISH[1:700], CHINESE[1:90], CODE[1:300], OTHERS.strip("\n"), "'", "''", "'''", "'re", " 're", "x're", "x 're",
          "'RE'Ll'vE", "I'\u017f", "1'st", "\n'm", "[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHello! [/INST]",
          "'The llama', she said: 'So it is!'"]
INVALID = [b"\xff", b"\x80", b"a\xffb", b"\xc3", b"\xc3(", b"\xe4\xbd", b"\xe4\xbd a", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\xf0\x9f", b"\xc0\x80",
           b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe0\x80\x80", b"\xff\xfe\xfd a \xff \xfe",
           b"\xc3\xa9\xc3", b" \xff ", b"\xe2\x96\x81\xe2\x96", b"a\xf0\x9f\x91\x8d\xf0b", bytes(range(128, 256)), bytes(range(256))]

# Letters and digits since Unicode 15 and 16, which the byte level's libraries know, and some of Unicode 17, which they do not.
NEWER = ["\U00031350's", "\u1c8a's \U000105c0're", "\U00010d40012", "\U0001ccf0 \U0001ccf1012x", "\U00011db0's", "\U00011de0012"]

# Each is decoded: these ids, modulo the vocabulary's size.
DECODED = [[1], [0], [2], [1, 300], [300, 1, 300], [0, 300, 0], [258], [231, 192], [231, 192, 163], [1, 258, 231, 192, 163, 243],
           [240, 163, 131], [195, 131], [35, 300], [1, 35, 35, 300], [3], [242, 194, 192], [300, 231, 300], list(range(3, 259)), list(range(256)),
           list(range(255, -1, -1)), list(range(250, 520, 3)), [127] * 3 + [227, 128], [228, 189, 160, 228, 189], [240, 159, 152, 128, 240, 159]]

# --- The vocabularies --------------------------------------------------------------------------------------

def train_sentencepiece(size, **more):
    """Llama 2's options, as its tokenizer.model records them; see the trainer_spec in it."""
    model = io.BytesIO()
    more = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False} | more
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, model_type="bpe", vocab_size=size, character_coverage=0.98,
        byte_fallback=True, split_digits=True, allow_whitespace_only_pieces=True, add_dummy_prefix=True, num_threads=1, minloglevel=2, **more)
    return model.getvalue()


RULES = ["FB01\t66 69", "2460\t31", "3000\t20", "A0\t20", "FF21\t41", "65 301\tE9", "65 301 2E\t20 20", "200B\t", "AC00 11A8\tAC01"]  # as nmt_nfkc has them by the thousand


def train_mapped(size):
    """Other people's: with a character map, and without two spaces side by side. The model keeps the name of the file of rules."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("rules.tsv").write_text("\n".join(RULES) + "\n")
        model = train_sentencepiece(size, normalization_rule_tsv="rules.tsv", remove_extra_whitespaces=True)
        os.chdir(here)
    return model


def pieces_of(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return {processor.id_to_piece(i): (i, processor.get_score(i)) for i in range(processor.get_piece_size())}


def convert(model, metaspace):
    """SentencePiece's model as a tokenizer.json: every way in which a piece can be put together is a merge of its rank."""
    pieces = pieces_of(model)
    merges = [(-score, pieces[piece[:i]][0], pieces[piece[i:]][0], piece[:i], piece[i:])
              for piece, (_, score) in pieces.items() if score < 0 or piece not in ("<unk>", "<s>", "</s>")
              for i in range(1, len(piece)) if not piece.startswith("<0x") and piece[:i] in pieces and piece[i:] in pieces]
    merges = [(left, right) for *_, left, right in sorted(merges)]
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for piece, (i, _) in pieces.items()}, merges=merges, fuse_unk=True,
                                     byte_fallback=True, unk_token="<unk>"))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in ("<unk>", "<s>", "</s>")])
    tokenizer.add_tokens([AddedToken("[INST]", normalized=False), AddedToken("[/INST]", normalized=False)])
    return tokenizer


def train_byte_level(size):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(["\n".join(CORPUS)], trainer)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True)
                                  for name in ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>")])
    return tokenizer


def bytes_of(piece):
    """A piece in the byte-level alphabet: its bytes. The alphabet is in the order of GPT-2's bytes_to_unicode."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xa1, 0xad), *range(0xae, 0x100)]
    alphabet = {chr(byte): byte for byte in plain}
    alphabet |= {chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in plain)}
    return bytes(alphabet[c] for c in piece)


def ranks_of(tokenizer):
    return {bytes_of(piece): i for piece, i in tokenizer.get_vocab(with_added_tokens=False).items()}


def write_ranks(ranks):
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in sorted(ranks.items(), key=lambda item: item[1])]
    return "".join(lines).encode()


# --- The libraries -----------------------------------------------------------------------------------------

class SentencePiece:
    """encode() takes bytes. It knows no special tokens in a text."""
    def __init__(self, model):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.size = self.processor.get_piece_size()
        self.encode = self.processor.encode

    def encode_special(self, text):
        return None

    def decode(self, ids):
        return self.processor.decode(ids)


SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
           "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
           "<|python_tag|>", "<|image|>"]  # Meta's llama3/tokenizer.py
SPECIAL += [f"<|reserved_special_token_{i + 2}|>" for i in range(256 - len(SPECIAL))]


class Tiktoken:
    """encode() takes str."""
    def __init__(self, ranks):
        special = {name: len(ranks) + i for i, name in enumerate(SPECIAL)}
        self.encoding = tiktoken.Encoding("llama3", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)
        self.size = self.encoding.n_vocab

    def encode(self, text):
        return self.encoding.encode_ordinary(text.decode())

    def encode_special(self, text):
        return self.encoding.encode(text.decode(), allowed_special="all")

    def decode(self, ids):
        return self.encoding.decode(ids)


class HuggingFace:
    def __init__(self, tokenizer):
        self.tokenizer, self.size = tokenizer, tokenizer.get_vocab_size()

    def encode(self, text):
        self.tokenizer.encode_special_tokens = True  # which makes them text
        return self.tokenizer.encode(text.decode(), add_special_tokens=False).ids

    def encode_special(self, text):
        self.tokenizer.encode_special_tokens = False
        return self.tokenizer.encode(text.decode(), add_special_tokens=False).ids

    def decode(self, ids):
        """At byte level, special tokens are their names, as in tiktoken; otherwise they are no text, as in sentencepiece."""
        return self.tokenizer.decode(ids, skip_special_tokens=not isinstance(self.tokenizer.decoder, decoders.ByteLevel))


def field(number, value):
    """A field of a protobuf message: bytes, a small number, or a float."""
    if isinstance(value, bytes):
        length = bytes([len(value)]) if len(value) < 128 else bytes([len(value) & 127 | 128, len(value) >> 7])
        return bytes([number << 3 | 2]) + length + value
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    return (bytes([number << 3]) if number < 16 else bytes([(number << 3) & 127 | 128, number >> 4])) + bytes([value])


def sentencepiece_of_bin(data):
    """llama2.c's tokenizer.bin as SentencePiece's model: its rule is the same one."""
    model, at, i = b"", 4, 0
    while at < len(data):
        score, length = struct.unpack_from("<fi", data, at)
        text = data[at + 8 : at + 8 + length]
        at, kind = at + 8 + length, {0: 2, 1: 3, 2: 3}.get(i, 6 if i < 259 else 1)
        piece = text.strip(b"\n") if i in (1, 2) else text.replace(b" ", "▁".encode())
        model += field(1, field(1, piece) + field(2, score) + field(3, kind))
        i += 1
    bpe, byte_fallback, remove_extra_whitespaces = field(3, 2), field(35, 1), field(4, 0)
    return model + field(2, bpe + byte_fallback) + field(3, remove_extra_whitespaces)


USER_DEFINED = ["<user>", "<user2>", "llama", "ll", "▁the▁"]


def gguf_file(**pairs):
    """A GGUF file of pairs alone. The package writes files and no bytes."""
    with tempfile.TemporaryDirectory() as folder:
        writer = gguf.GGUFWriter(Path(folder) / "x.gguf", "llama")
        for name, value in pairs.items():
            getattr(writer, f"add_{name}")(value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return (Path(folder) / "x.gguf").read_bytes()


def gguf_of_sentencepiece(model):
    p = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = range(p.get_piece_size())
    names = [p.id_to_piece(i) for i in ids]
    types = [2 if p.is_unknown(i) else 3 if p.is_control(i) else 6 if p.is_byte(i) else 4 if names[i] in USER_DEFINED else 1 for i in ids]
    return gguf_file(tokenizer_model="llama", tokenizer_pre="default", token_list=names, token_scores=[p.get_score(i) for i in ids],
                     token_types=types, bos_token_id=p.bos_id(), eos_token_id=p.eos_id(), add_bos_token=True)


def gguf_of_byte_level(tokenizer):
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    known = tokenizer.get_vocab(with_added_tokens=False)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    return gguf_file(tokenizer_model="gpt2", tokenizer_pre="llama-bpe", token_list=names, token_merges=merges,
                     token_types=[1 if name in known else 3 for name in names],
                     bos_token_id=names.index("<|begin_of_text|>"), eos_token_id=names.index("<|end_of_text|>"))


def vocabularies():
    """The files to write, and a library for each folder."""
    plain, small = train_sentencepiece(1400), train_sentencepiece(720)
    user = train_sentencepiece(580, user_defined_symbols=USER_DEFINED, control_symbols=["<control>"])
    mapped = train_mapped(560)
    byte_level, small_bytes = train_byte_level(1400), train_byte_level(600)
    hf = {"prepend": convert(small, False), "metaspace": convert(small, True), "byte_level": small_bytes}
    ranks = ranks_of(byte_level)
    files = {"sentencepiece/tokenizer.model": plain, "user_defined/tokenizer.model": user, "mapped/tokenizer.model": mapped,
             "tiktoken/tokenizer.model": write_ranks(ranks),
             "user_defined.gguf": gguf_of_sentencepiece(user), "byte_level.gguf": gguf_of_byte_level(small_bytes)}
    files |= {f"{name}/tokenizer.json": compact(json.loads(tokenizer.to_str())) for name, tokenizer in hf.items()}
    libraries = {"sentencepiece": SentencePiece(plain), "user_defined": SentencePiece(user), "mapped": SentencePiece(mapped), "tiktoken": Tiktoken(ranks)}
    return files, libraries | {name: HuggingFace(tokenizer) for name, tokenizer in hf.items()}


def third_party():
    """What others made is not in this repository; what comes of it may be."""
    files = {"llama2": DATA / "llama2/tokenizer.model", "llama3": DATA / "llama3/tokenizer.model", "tok512.bin": DATA / "tok512.bin"}
    if all(path.exists() for path in files.values()):
        lines = [line.split() for line in files["llama3"].read_bytes().splitlines()]
        yield "llama2", SentencePiece(files["llama2"].read_bytes())
        yield "llama3", Tiktoken({base64.b64decode(token): int(rank) for token, rank in lines})
        yield "tok512.bin", SentencePiece(sentencepiece_of_bin(files["tok512.bin"].read_bytes()))


# --- The two steps of training -----------------------------------------------------------------------------

def pytorch_pair_counts(ids, V):
    ids = ids.long()
    return torch.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).to(torch.get_default_dtype())


def count_pairs(pairs):
    def formula(ids, V):
        counts = torch.zeros(V, V)
        for a, b in pairs(ids.long().tolist()):
            counts[a, b] += 1
        return counts
    return formula


def without_overlap(ids):
    """Pairs, but of "aaa" only one."""
    i = 0
    while i + 1 < len(ids):
        yield ids[i], ids[i + 1]
        i += 2 if ids[i : i + 2] == ids[i + 1 : i + 3] else 1


pair_counts = Kernel("pair_counts", "10_tokenizer", "torch.bincount", pytorch_pair_counts,
                     count_pairs(lambda ids: zip(ids, ids[1:])))
pair_counts.wrong("swapped", "You count how often a stands behind b: counts[a][b] is for b behind a",
                  count_pairs(lambda ids: zip(ids[1:], ids)))
pair_counts.wrong("any_order", "You count a pair in both orders. ab and ba are different pairs",
                  count_pairs(lambda ids: [*zip(ids, ids[1:]), *zip(ids[1:], ids)]))
pair_counts.wrong("one_missing", "The last pair is missing. n ids have n - 1 pairs", count_pairs(lambda ids: zip(ids, ids[1:-1])))
pair_counts.wrong("in_steps_of_two", "You go on by two ids. Each id is in two pairs: with the one before it and the one behind it",
                  count_pairs(lambda ids: zip(ids[::2], ids[1::2])))
pair_counts.wrong("without_overlap", "Of three equal ids in a row you count one pair. Here they are two", count_pairs(without_overlap))
pair_counts.wrong("once_each", "You note whether a pair stands there. Count how often",
                  count_pairs(lambda ids: set(zip(ids, ids[1:]))))
pair_counts.wrong("round_the_end", "You count the last id with the first as a pair. n ids have n - 1 pairs",
                  count_pairs(lambda ids: zip(ids, ids[1:] + ids[:1])))
pair_counts.wrong("one_apart", "You count ids that have another between them. A pair stands side by side",
                  count_pairs(lambda ids: zip(ids, ids[2:])))
pair_counts.wrong("equal_ones_left_out", "You count no pair of two equal ids. aa is a pair, too",
                  count_pairs(lambda ids: ((a, b) for a, b in zip(ids, ids[1:]) if a != b)))
pair_counts.wrong("first_missing", "The first pair is missing. Pairs begin with ids[0]",
                  count_pairs(lambda ids: zip(ids[1:], ids[2:])))
pair_counts.wrong("with_itself", "You count each id with itself. A pair is an id and the one behind it",
                  count_pairs(lambda ids: zip(ids, ids)))
pair_counts.wrong("in_a_byte", "Your counts have 8 bits, and begin again at 256. They are ints",
                  lambda ids, V: count_pairs(lambda ids: zip(ids, ids[1:]))(ids, V) % 256)
pair_counts.wrong("in_either_order", "You count a pair for both orders of its ids. counts[a][b] is for b behind a alone",
                  count_pairs(lambda ids: [pair for a, b in zip(ids, ids[1:]) for pair in {(a, b), (b, a)}]))
pair_counts.wrong("one_more_each", "Your counts begin with 1, as for add-one smoothing. Begin with 0",
                  lambda ids, V: 1 + count_pairs(lambda ids: zip(ids, ids[1:]))(ids, V))
pair_counts.wrong("shares", "Your counts are divided by how often the left one stands there. Leave them as they are",
                  lambda ids, V: (lambda counts: counts / counts.sum(1, keepdim=True).clamp(min=1))(
                      count_pairs(lambda ids: zip(ids, ids[1:]))(ids, V)))
TEXT = [list(b"llama").index(c) if c in b"llama" else 4 for c in b"all llamas call a llama a llama, maaa and llaaama"]
pair_counts.case("by_hand", "aaab: aa twice, ab once", ids=torch.tensor([0, 0, 0, 1], dtype=torch.int32), V=2)
pair_counts.case("text", "a sentence", ids=torch.tensor(TEXT, dtype=torch.int32), V=5)
pair_counts.case("many", "a pair that stands there 299 times, which is more than a byte holds", ids=torch.zeros(300, dtype=torch.int32), V=2)
pair_counts.case("rare", "most pairs are never seen", ids=torch.tensor([i * i % 23 for i in range(40)], dtype=torch.int32), V=23)


def merge(ids, left, right, merged, from_the_right=False, keep=False, skip=False, step=2, most=None, either=False,
          last=True):
    """The ids after the merge, and -1 behind them."""
    ids, out, i = ids.long().tolist(), [], 0
    if from_the_right:
        ids, left, right = ids[::-1], right, left
    while i < len(ids):
        pair = tuple(ids[i : i + 2])
        if (pair == (left, right) or (either and pair == (right, left))) and most != 0:
            out.append(merged)
            out += [right] if keep else []
            i += 3 if skip else step
            most = most and most - 1
        else:
            out += [ids[i]] if last or i + 1 < len(ids) else []
            i += 1
    out = out[::-1] if from_the_right else out
    return torch.tensor((out + [-1] * len(ids))[: len(ids)], dtype=torch.get_default_dtype())


def merged_again(ids, left, right, merged, until_none=False):
    """What has just been merged, and stands at the end of out, merges with the id that follows, or even with the one before."""
    out = []
    for number in ids.long().tolist():
        if out and (out[-1], number) == (left, right):
            out[-1] = merged
        else:
            out.append(number)
        while until_none and out[-2:] == [left, right]:
            out[-2:] = [merged]
    return torch.tensor((out + [-1] * len(ids))[: len(ids)], dtype=torch.get_default_dtype())


def merges_returned(ids, left, right, merged):
    out = merge(ids, left, right, merged)
    return torch.where(torch.arange(len(ids)) < (out < 0).sum(), out, -1)


def pytorch_merge(ids, left, right, merged):
    """Every second place of a run of pairs is a merge; such runs are longer than one only where left is right."""
    ids = ids.long()
    pair = torch.cat([(ids[:-1] == left) & (ids[1:] == right), torch.tensor([False])])
    place = torch.arange(len(ids))
    run = place - torch.cummax(torch.where(pair, -1, place), 0).values
    taken = pair & (run % 2 == 1)
    kept = ~torch.cat([torch.tensor([False]), taken[:-1]])
    out = torch.full_like(ids, -1)
    out[: kept.sum()] = torch.where(taken, merged, ids)[kept]
    return out.to(torch.get_default_dtype())


def all_marked_first(ids, left, right, merged):
    """Each id behind the left one of a pair is taken for a right one, and left out."""
    ids = ids.long()
    pair = (ids[:-1] == left) & (ids[1:] == right)
    no = torch.tensor([False])
    kept = torch.where(torch.cat([pair, no]), merged, ids)[~torch.cat([no, pair])]
    return torch.cat([kept, torch.full((len(ids) - len(kept),), -1)]).to(torch.get_default_dtype())


def hole_left(ids, left, right, merged):
    out, numbers = [], ids.long().tolist()
    while len(out) < len(numbers):
        is_pair = numbers[len(out):len(out) + 2] == [left, right]
        out += [merged, -1] if is_pair else [numbers[len(out)]]
    return torch.tensor(out, dtype=torch.get_default_dtype())


def behind(merged, ids):
    """The last id, behind what is left of those before it."""
    count = int((merged >= 0).sum())
    return torch.cat([merged[:count], ids[-1:].to(merged.dtype), torch.full((len(ids) - count - 1,), -1, dtype=merged.dtype)])


def wrong_merge(**how):
    return lambda ids, left, right, merged: merge(ids, left, right, merged, **how)


merge_pair = Kernel("merge_pair", "10_tokenizer", "torch.where on the ids and their neighbours", pytorch_merge, merge)
merge_pair.wrong("from_the_right", "You merge from the right. Of aaa, the first two become one", wrong_merge(from_the_right=True))
merge_pair.wrong("right_stays", "The right one of the two stays. Two become one", wrong_merge(keep=True))
merge_pair.wrong("skips_one", "You lose the id behind a merge", wrong_merge(skip=True))
merge_pair.wrong("nothing_merged", "You merge nothing", lambda ids, left, right, merged: merge(ids, -2, -2, merged))
merge_pair.wrong("either_order",
                 "You merge right and left in either order. Only left followed by right is the pair",
                 wrong_merge(either=True))
merge_pair.wrong("overlapping",
                 "Your merges overlap: of aaa two become one, and again two. Go on behind both",
                 wrong_merge(step=1))
merge_pair.wrong("first_alone", "You merge the first pair alone. Merge every one", wrong_merge(most=1))
merge_pair.wrong("last_lost", "You lose the last id where it is in no pair. Copy it", wrong_merge(last=False))
merge_pair.wrong("left_stays", "The left one of the two stands where `merged` should",
                 lambda ids, left, right, merged: merge(ids, left, right, left))
merge_pair.wrong("merged_again", "You merge what has just been merged with the id that follows. Go on behind both, with the next of ids", merged_again)
merge_pair.wrong("merged_until_none", "You merge on as long as there is a pair in out. Each of ids is read once, and what is merged merges no more",
                 lambda *call, **inputs: merged_again(*call, **inputs, until_none=True))
merge_pair.wrong("merges_returned", "You return how many merges there were. Return how many ids are left", merges_returned)
merge_pair.wrong("all_marked_first", "All pairs are marked before the first is merged, so that of aaa the third id is lost. Go on behind both of a pair, "
                 "and look again there", all_marked_first)
merge_pair.wrong("hole_left", "Where the right one of a pair was you leave a hole of -1. What follows moves up, and n becomes less", hole_left)
merge_pair.wrong("last_pair_left_out", "The last two ids are never merged. i + 1 < n is a pair",
                 lambda ids, left, right, merged: behind(merge(ids[:-1], left, right, merged), ids))
merge_pair.wrong("first_pair_left_out", "The first two ids are never merged. Begin with i = 0",
                 lambda ids, left, right, merged: torch.cat([ids[:1].to(torch.get_default_dtype()), merge(ids[1:], left, right, merged)]))
merge_pair.case("by_hand", "aaab with aa merged: Aab", ids=torch.tensor([1, 1, 1, 2], dtype=torch.int32), left=1, right=1, merged=3)
merge_pair.case("text", "a sentence, ll merged", ids=torch.tensor(TEXT, dtype=torch.int32), left=0, right=0, merged=5)
merge_pair.case("large", "ids as in a vocabulary of 128256, more than 16 bits hold",
                ids=torch.tensor([70000, 128000, 4464, 70000, 128000], dtype=torch.int32), left=70000, right=128000, merged=128255)
merge_pair.case("different", "two different ones", ids=torch.tensor(TEXT, dtype=torch.int32), left=0, right=2, merged=5)
merge_pair.case("left_again", "abbb with ab merged to a: what is merged could merge again, and does not",
                ids=torch.tensor([0, 1, 1, 1, 2, 0, 1, 2, 0, 1, 1], dtype=torch.int32), left=0, right=1, merged=0)
merge_pair.case("right_again", "aaab with ab merged to b: so could what stands before it",
                ids=torch.tensor([0, 0, 0, 1, 2, 0, 1, 2, 0, 0, 1], dtype=torch.int32), left=0, right=1, merged=1)
merge_pair.case("last", "the last two are a pair", ids=torch.tensor([2, 0, 1, 1, 0, 1], dtype=torch.int32), left=0, right=1, merged=3)


# --- Merging a text with a vocabulary ---------------------------------------------------------------------
# A kernel's inputs are tensors: the text and the pieces as bytes, the pieces one behind the other, of these lengths, each
# with its rank. Its output is two rows: the ids of what is left, and where each starts, then -1.

def trained(text, merges):
    """A vocabulary: the text's bytes, and then the pair that is most frequent, merged, so many times."""
    pieces = sorted({bytes([b]) for b in text})
    ids = torch.tensor([pieces.index(bytes([b])) for b in text])
    for _ in range(merges):
        pairs = list(zip(ids.tolist(), ids.tolist()[1:]))
        left, right = max(sorted(set(pairs)), key=pairs.count)
        pieces.append(pieces[left] + pieces[right])
        ids = merge(ids, left, right, len(pieces) - 1).long()
        ids = ids[ids >= 0]
    return pieces


def as_ids(symbols, pieces):
    """Their ids, -1 for those that are no tokens, and where each starts."""
    return ([pieces.index(symbol) if symbol in pieces else -1 for symbol in symbols],
            [sum(map(len, symbols[:i])) for i in range(len(symbols))])


def first_of_lowest_rank(pairs):
    """Of (rank, place, length) of all that may merge, the one that does."""
    return min(pairs)


def bpe(text, pieces, ranks=None, choose=first_of_lowest_rank, most=None):
    ranks = ranks or {piece: rank for rank, piece in enumerate(pieces)}
    symbols = [text[i : i + 1] for i in range(len(text))]
    while most is None or len(symbols) > len(text) - most:
        pairs = [(ranks[a + b], i, len(a + b)) for i, (a, b) in enumerate(zip(symbols, symbols[1:])) if a + b in ranks]
        pair = choose(pairs) if pairs else None
        if not pair:
            break
        i = pair[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return as_ids(symbols, pieces)


def longest_match(text, pieces, ranks):
    symbols = []
    while text:
        symbols.append(max((piece for piece in pieces if text.startswith(piece)), key=len, default=text[:1]))
        text = text[len(symbols[-1]) :]
    return as_ids(symbols, pieces)


def on_tensors(encode):
    """encode(text, pieces, ranks) as a kernel's formula. Where ids have not the text that is theirs, it says where each starts."""
    def formula(text, pieces, lengths, ranks):
        pieces, text = bytes(pieces.int().tolist()), bytes(text.int().tolist())
        ends = lengths.long().cumsum(0).tolist()
        pieces = [pieces[end - int(length) : end] for end, length in zip(ends, lengths)]
        ids = encode(text, pieces, dict(zip(pieces, ranks.tolist())))
        ids, starts = ids if isinstance(ids, tuple) else (ids, [sum(len(pieces[i]) for i in ids[:n]) for n in range(len(ids))])
        rest = [-1] * (len(text) - len(ids))
        return torch.tensor([ids + rest, starts[: len(ids)] + rest], dtype=torch.get_default_dtype())
    return formula


def of_tiktoken(text, pieces, ranks):
    """With a pattern that does not split the text."""
    ranks = {piece: int(rank) for piece, rank in ranks.items()}
    encoding = tiktoken.Encoding("one word", pat_str=r"(?s).+", mergeable_ranks=ranks, special_tokens={})
    of_rank = {rank: i for i, rank in enumerate(ranks.values())}
    return [of_rank[rank] for rank in encoding.encode_ordinary(text.decode())]


def wrong_bpe(name, advice, **how):
    bpe_merge.wrong(name, advice, on_tensors(lambda text, pieces, ranks: bpe(text, pieces, ranks, **how)))


def all_at_once(text, pieces, ranks):
    """The mistake: every place where the best pair stands merges before another pair is looked for."""
    symbols = [text[i : i + 1] for i in range(len(text))]
    while True:
        pairs = [(ranks[a + b], a, b) for a, b in zip(symbols, symbols[1:]) if a + b in ranks]
        if not pairs:
            return as_ids(symbols, pieces)
        _, left, right = min(pairs, key=lambda pair: pair[0])
        merged, i = [], 0
        while i < len(symbols):
            both = symbols[i : i + 2] == [left, right]
            merged.append(left + right if both else symbols[i])
            i += 2 if both else 1
        symbols = merged


bpe_merge = Kernel("bpe_merge", "10_tokenizer", "tiktoken.Encoding.encode_ordinary", on_tensors(of_tiktoken), on_tensors(bpe), sums=None)
bpe_merge.wrong("longest_match", "You take the longest token that the text goes on with. Merge the pair of the lowest rank, again and again",
                on_tensors(longest_match))
wrong_bpe("leftmost_pair", "You merge the leftmost pair that is a token. The one of the lowest rank merges first, wherever it stands",
          choose=lambda pairs: min(pairs, key=lambda pair: pair[1]))
wrong_bpe("rightmost_of_equals", "Of pairs of the same rank you merge the rightmost first. It is the leftmost",
          choose=lambda pairs: min(pairs, key=lambda pair: (pair[0], -pair[1])))
bpe_merge.wrong("all_at_once",
                "You merge the best pair at all its places before you look again, as GPT-2's encoder does. After each merge, look "
                "for the best pair anew: the new token may make a better one", on_tensors(all_at_once))
wrong_bpe("highest_rank", "You merge the pair of the highest rank first. It is the lowest",
          choose=lambda pairs: max(pairs, key=lambda pair: (pair[0], -pair[1])))
wrong_bpe("longest_pair", "You merge the pair that makes the longest token first. Its rank decides, not its length",
          choose=lambda pairs: min(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])))
wrong_bpe("one_merge", "You stop after one merge. Go on until no pair is a token", most=1)
wrong_bpe("does_nothing", "Your symbols are as they were. Merge the pair of the lowest rank, again and again", most=0)
bpe_merge.wrong("id_for_rank",
                "Your tokens merge in the order of their ids. Their rank decides: ids need not be sorted by it",
                on_tensors(lambda text, pieces, ranks: bpe(text, pieces)))
wrong_bpe("letters_alone", "You merge single letters alone. What has been merged may merge again",
          choose=lambda pairs: min((pair for pair in pairs if pair[2] == 2), default=None))
wrong_bpe("rightmost_pair",
          "You merge the rightmost pair that is a token. The one of the lowest rank merges first, wherever it stands",
          choose=lambda pairs: max(pairs, key=lambda pair: pair[1]))


def stale_candidates(text, pieces, ranks):
    """The mistake: a pair that was found merges when its turn comes, though one of the two has grown since."""
    ids = as_ids([text[i : i + 1] for i in range(len(text))], pieces)[0]
    ends = list(range(1, len(text) + 1))  # of the symbol that starts there; 0 where none does any more
    found = []

    def look(left):
        right = ends[left]
        if right < len(text) and text[left : ends[right]] in ranks:
            piece = text[left : ends[right]]
            found.append((ranks[piece], left, pieces.index(piece)))
    for left in range(len(text)):
        look(left)
    while found:
        found.remove(best := min(found))
        _, left, merged = best
        right = ends[left]
        if not 0 < right < len(text):
            continue
        ids[left], ends[left], ends[right] = merged, ends[right], 0
        before = next((i for i in reversed(range(left)) if ends[i]), None)
        for at in (left,) if before is None else (before, left):
            look(at)
    starts = [i for i in range(len(text)) if ends[i]]
    return [ids[i] for i in starts], starts


bpe_merge.wrong("stale_candidates",
                "You merge a pair that is no more: one of the two has grown since you found it. Compare both with what they were then, and leave "
                "such a candidate out", on_tensors(stale_candidates))


def unknown_ones_skipped(text, pieces, ranks):
    """The mistake: two symbols merge only where both are tokens."""
    symbols = [text[i : i + 1] for i in range(len(text))]
    while pairs := [(ranks[a + b], i) for i, (a, b) in enumerate(zip(symbols, symbols[1:])) if {a, b, a + b} <= ranks.keys()]:
        i = min(pairs)[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return as_ids(symbols, pieces)


def each_rank_once(text, pieces, ranks):
    """The mistake: one pass over the tokens in the order of their ranks, each merged wherever it can be made then."""
    symbols = [text[i : i + 1] for i in range(len(text))]
    for piece in sorted(pieces, key=lambda piece: ranks[piece]):
        merged, i = [], 0
        while i < len(symbols):
            both = i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == piece
            merged.append(piece if both else symbols[i])
            i += 2 if both else 1
        symbols = merged
    return as_ids(symbols, pieces)


def ranks_for_ids(text, pieces, ranks):
    ids, starts = bpe(text, pieces, ranks)
    return [int(ranks[pieces[i]]) for i in ids], starts


bpe_merge.wrong("unknown_ones_skipped",
                "You merge no symbol whose id is -1. Two bytes that are no tokens may make one: look up the text of both, whatever their ids",
                on_tensors(unknown_ones_skipped))
bpe_merge.wrong("each_rank_once",
                "You go through the tokens once, in the order of their ranks. A merge may make a pair of a lower rank: look for the best pair anew",
                on_tensors(each_rank_once))
bpe_merge.wrong("ranks_for_ids", "Your symbols have the ranks of their tokens. They have the ids, which need not be sorted by it",
                on_tensors(ranks_for_ids))
bpe_merge.wrong("places_for_starts", "Your symbols start at their own numbers, 0, 1, 2. A start is a place in the text: a merged one keeps that of its left part",
                on_tensors(lambda text, pieces, ranks: (bpe(text, pieces, ranks)[0], list(range(len(text))))))


def a_text(text, pieces, ranks=None):
    ranks = ranks or list(range(len(pieces)))
    return dict(text=torch.tensor(list(text), dtype=torch.int32),
                pieces=torch.tensor(list(b"".join(pieces)), dtype=torch.int32),
                lengths=torch.tensor([len(piece) for piece in pieces], dtype=torch.int32),
                ranks=torch.tensor(ranks, dtype=torch.float32))


SENTENCE = b"The children said that there were llamas in the mountains, and that they would not have thought of them."
LEARNED = trained(ENGLISH[:1000].encode(), 100)
SHUFFLED = [61 * rank % len(LEARNED) for rank in range(len(LEARNED))]
case = bpe_merge.case
case("by_hand", "abab with ab, and then abab.", **a_text(b"abab", [b"a", b"b", b"ab", b"abab"]))
case("rank_decides", "abc: bc has the lower rank, and goes first.", **a_text(b"abcab", [b"a", b"b", b"c", b"bc", b"ab"]))
case("overlap", "aaaaa with aa: from the left.", **a_text(b"aaaaa", [b"a", b"aa"]))
case("overlap_again", "aa, then aaaa, then a pair of those.", **a_text(b"a" * 13, [b"a", b"aa", b"aaaa", b"aaaaaaaa"]))
case("not_the_longest", "ban ana: the longest match would begin with another token.",
     **a_text(b"banana", [b"a", b"b", b"n", b"an", b"ana", b"ban"]))
case("three_ways", "xyz is x, yz; and abcd is one token, if ab is not made first.",
     **a_text(b"abcdxyz", [b"a", b"b", b"c", b"d", b"x", b"y", b"z", b"bc", b"bcd", b"abcd", b"ab", b"yz", b"xy"]))
case("none", "No two letters merge.", **a_text(b"abcabc", [b"a", b"b", b"c", b"cc"]))
case("sentence", "A sentence, with what was learned from others.", **a_text(SENTENCE, LEARNED))
case("any_ranks", "The same tokens, in another order.", **a_text(SENTENCE, LEARNED, SHUFFLED))
case("long", "A longer text, with those in that order: now a merge often spoils another.",
     **a_text(bytes(b for b in ENGLISH[:1700].encode() if bytes([b]) in LEARNED), LEARNED, SHUFFLED))
case("better_pair", "ababa: the first ab makes aba possible, which is better than the second ab.",
     **a_text(b"ababa", [b"a", b"b", b"ab", b"aba"], [0, 2, 5, 1]))
case("one_letter", "A text of one letter.", **a_text(b"b", [b"a", b"b", b"ab"]))
case("two_letters", "Two letters that merge.", **a_text(b"ab", [b"a", b"b", b"ab"]))
case("unknown_letters", "abcabc where neither a nor b is a token, and ab is.", **a_text(b"abcabc", [b"c", b"ab", b"abc"]))


# --- The file ----------------------------------------------------------------------------------------------

def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def cases(library):
    """What a library answers, text by text; null where it takes no such text, or has no other answer with special tokens."""
    texts, answers, special = [text.encode() for text in TEXTS], [], []
    for text in texts + INVALID:
        valid = text in texts
        answers.append(library.encode(text) if valid or isinstance(library, SentencePiece) else None)
        with_special = library.encode_special(text) if valid else None
        special.append(with_special if with_special != answers[-1] else None)
    lists = [[i % library.size for i in ids] for ids in DECODED]
    return {"ids": answers, "special": special, "decoded": [[ids, library.decode(ids)] for ids in lists]}


def compute():
    files, libraries = vocabularies()
    committed = FOLDER / "expected.json"
    known = json.loads(committed.read_text())["vocabularies"] if committed.exists() else {}
    others = {name: cases(library) for name, library in third_party()}
    if not others:
        print("note: Llama 2's and Llama 3's own files are not here: their ids are taken over as they are committed")
        others = {name: known[name] for name in ("llama2", "llama3", "tok512.bin") if name in known}
    versions = {name: importlib.metadata.version(name) for name in ("sentencepiece", "tiktoken", "tokenizers")}
    expected = {"versions": versions, "texts": TEXTS, "bytes": [text.hex() for text in INVALID],
                "vocabularies": {name: cases(library) for name, library in libraries.items()} | others}
    newer = {name: [library.encode(text.encode()) for text in NEWER] for name, library in libraries.items() if name in ("tiktoken", "byte_level")}
    return files | {"expected.json": compact(expected | {"newer": {"texts": NEWER} | newer})}


def main():
    files, failed = compute(), 0
    if "--check" not in sys.argv[1:]:
        for name, data in files.items():
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_bytes(data)
            print(f"tokenizers/{name:28} {len(data) / 1000:6.1f} kB")
        return 0
    committed = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    for name in sorted(committed | files.keys()):
        same = name in files and name in committed and (FOLDER / name).read_bytes() == files[name]
        print(f"{'ok  ' if same else 'FAIL'} tokenizers/{name}")
        failed += not same
    print(f"{len(committed | files.keys()) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
