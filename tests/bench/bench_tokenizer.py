"""How fast is the tokenizer beside sentencepiece, tiktoken and tokenizers, on one thread, and are the ids the same?

    make bench-tokenizer

Texts of 10 MB and strings that are meant to be difficult go through the vocabularies of Llama 2 and Llama 3, which are not in
this repository: where they are, LLAMA_DATA says. One program after the other encodes the same text, three times around, and the
best time of each counts. Then a word of 10 MB, and how much longer that takes than one of 1 MB.
"""
import base64
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from check_tokenizers import golden, ours

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("LLAMA_DATA", ROOT / "../shared/data"))
SIZE = 10_000_000
ROUNDS = 3
STRINGS = 10_000


def skip(why):
    print(f"bench-tokenizer: skipped: {why}")
    sys.exit(0)


try:
    import sentencepiece
    import tiktoken
    import tokenizers
except ImportError as error:
    skip(f"{sys.executable} has no {error.name}: make venv")
for file in ("llama2/tokenizer.model", "llama3/tokenizer.model"):
    if not (DATA / file).exists():
        skip(f"{DATA / file} is not here")


golden = golden()

# --- The libraries -----------------------------------------------------------------------------------------

LLAMA2 = (DATA / "llama2/tokenizer.model").read_bytes()
RANKS = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, (DATA / "llama3/tokenizer.model").read_bytes().splitlines())}


def without_added(tokenizer):
    """As sentencepiece has it: names of tokens in a text are text."""
    settings = json.loads(tokenizer.to_str())
    settings["added_tokens"] = [token for token in settings["added_tokens"] if token["special"]]
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(settings))
    tokenizer.encode_special_tokens = True
    return tokenizer


def letters_of(token):
    """A token in the byte-level alphabet: the inverse of bytes_of."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return "".join(chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in token)


def llama3_tokenizer():
    """Llama 3's ranks as a tokenizer.json: every way in which a token can be put together is a merge of its rank."""
    letters = {token: letters_of(token) for token in RANKS}
    merges = [(letters[token[:i]], letters[token[i:]])
              for token, _ in sorted(RANKS.items(), key=lambda item: item[1])
              for i in range(1, len(token)) if token[:i] in RANKS and token[i:] in RANKS]
    model = tokenizers.models.BPE(vocab={letters[token]: rank for token, rank in RANKS.items()}, merges=merges, ignore_merges=True)
    tokenizer = tokenizers.Tokenizer(model)
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(golden.PATTERN), behavior="isolated", invert=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [split, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


class HuggingFace:
    """Without the places of the tokens in the text, which nobody here asks for."""
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, text):
        return self.tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids


def libraries(folder):
    """For each file that our program opens, the library whose ids are right."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=LLAMA2)
    encoding = tiktoken.Encoding("llama3", pat_str=golden.PATTERN, mergeable_ranks=RANKS, special_tokens={})
    converted = {"llama2": without_added(golden.convert(LLAMA2, False)), "llama3": llama3_tokenizer()}
    for name, tokenizer in converted.items():
        (folder / name).mkdir()
        tokenizer.save(str(folder / name / "tokenizer.json"))
    yield "llama2", "sentencepiece", DATA / "llama2/tokenizer.model", processor.encode
    yield "llama2", "tokenizers", folder / "llama2", HuggingFace(converted["llama2"]).encode
    yield "llama3", "tiktoken", DATA / "llama3/tokenizer.model", encoding.encode_ordinary
    yield "llama3", "tokenizers", folder / "llama3", HuggingFace(converted["llama3"]).encode


# --- The texts ---------------------------------------------------------------------------------------------

def varied(lines, size, chance):
    """Lines in any order, until there are enough; in some of them a word or a number is another one."""
    text, length = [], 0
    while length < size:
        line = chance.choice(lines)
        if chance.random() < 0.5:
            words = line.split(" ")
            words[chance.randrange(len(words))] = "".join(chance.choice("etaoinshrdlucm") for _ in range(chance.randint(1, 9)))
            line = " ".join(words) + f" {chance.randrange(10 ** chance.randint(1, 6))}"
        text.append(line)
        length += len(line.encode()) + 1
    return "\n".join(text).encode()[:size].decode(errors="ignore")


def texts(stories):
    chance = random.Random(10)
    lessons = "\n".join(path.read_text() for path in sorted(ROOT.glob("chapters/*/README.md"))).split("\n")
    code = "\n".join(path.read_text() for path in sorted([*ROOT.glob("chapters/*/*.c"), *ROOT.glob("tests/**/*.py")])).split("\n")
    chinese = [line for line in golden.CHINESE.split("\n") if line]
    others = golden.OTHERS.strip().split("\n")
    yield "stories", stories[:SIZE]
    yield "lessons", varied(lessons, SIZE, chance)
    yield "code", varied(code, SIZE, chance)
    yield "Chinese", "".join(chance.choices("".join(chinese), k=SIZE))[:SIZE // 3]
    yield "new words", "".join(chance.choice(" eattoinsrhlducmpg") for _ in range(SIZE))
    yield "mixed", varied([*lessons, *code, *chinese * 50, *others * 50, *stories[:100_000].split("\n")], SIZE, chance)


def difficult(tokens, chance):
    """Tokens in any order, and characters of every kind, some of them again and again."""
    kinds = [lambda: chance.choice(tokens), lambda: chance.choice(tokens), lambda: chance.choice(" \n\t\r") * chance.randint(1, 9),
             lambda: chance.choice("aeions'.,-_1234567890ABC(){}▁"), lambda: chr(chance.randint(0, 0x7ff)),
             lambda: chance.choice("'s|'LL|'ſ|'re| '|İ|ı|\u00a0|\u3000|\u200b|\u180e|é|ﬁ|👨‍👩‍👧|🇩🇪|½|٣|ⅻ|\r\n".split("|")),
             lambda: chr(chance.randint(0x3040, 0xd7ff)), lambda: chr(chance.randint(0xe000, 0x1ffff)),
             lambda: chance.choice(tokens)[:1] * chance.randint(2, 40)]
    return "".join(chance.choice(kinds)() for _ in range(chance.randint(0, 20)))


# --- Ours beside them ------------------------------------------------------------------------------------

def timed(encode, text):
    start = time.process_time()
    ids = encode(text)
    return ids, time.process_time() - start


def compare_speed(program, libraries, folder, many):
    slower = 0
    print(f"seconds of the processor for {SIZE // 1_000_000} MB, on one thread, the best of {ROUNDS}")
    print(f"{'':8}{'text':10}{'ours':>8}  {'library':15}{'its':>8}{'ratio':>8}")
    for what, text in many:
        for vocabulary, library, model, encode in libraries:
            mine, its = [], []
            for _ in range(ROUNDS):
                (ids,), seconds = ours(program, model, folder, [text.encode()])
                right, its_seconds = timed(encode, text)
                mine.append(seconds), its.append(its_seconds)
            same = ids == right
            slower += not same or min(its) < min(mine)
            print(f"{vocabulary:8}{what:10}{min(mine):8.2f}  {library:15}{min(its):8.2f}{min(its) / min(mine):8.1f}"
                  f"{'' if same else '  OTHER IDS'}", flush=True)
    return slower


def compare_strings(program, libraries, folder):
    differ = 0
    pieces = sentencepiece.SentencePieceProcessor(model_proto=LLAMA2)
    tokens = {"llama2": [pieces.id_to_piece(i).replace("▁", " ") for i in range(259, pieces.get_piece_size())],
              "llama3": [token for token in (token.decode(errors="ignore") for token in RANKS) if token]}
    for vocabulary, library, model, encode in libraries:
        chance = random.Random(11)
        many = [difficult(tokens[vocabulary], chance) for _ in range(STRINGS)]
        mine, _ = ours(program, model, folder, [text.encode() for text in many])
        wrong = [text for text, ids in zip(many, mine) if ids != encode(text)]
        print(f"{vocabulary:8}{STRINGS} difficult strings: {len(wrong)} are other ids than {library}'s", *map(repr, wrong[:2]))
        differ += len(wrong)
    return differ


def one_word(program, libraries, folder):
    """Ten times the length should take ten times the time; some more, as the memory grows out of the caches."""
    print("a word of 1 MB and of 10 MB")
    for what, letter in (("a", b"a"), ("blank", b" "), ("ab", b"ab"), ("Chinese", "的".encode())):
        for vocabulary, library, model, _ in libraries:
            seconds = [min(ours(program, model, folder, [letter * (size // len(letter))])[1] for _ in range(2)) for size in (SIZE // 10, SIZE)]
            print(f"{vocabulary:8}{what:10}{seconds[0]:8.2f}{seconds[1]:8.2f}{seconds[1] / seconds[0]:8.1f} times  as {model.name}", flush=True)


def main():
    program, stories = sys.argv[1:]
    text = subprocess.run([stories, "--count", "16000", "--seed", "10"], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        all_libraries = list(libraries(folder))
        differ = compare_strings(program, all_libraries, folder)
        slower = compare_speed(program, all_libraries, folder, list(texts(text)))
        one_word(program, all_libraries, folder)
    sys.exit(1 if differ or slower else 0)


main()
