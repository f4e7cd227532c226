"""Unicode's classes of characters, as tiktoken and tokenizers know them: two generated tables.

    python tests/golden/unicode_data.py            writes the files anew
    python tests/golden/unicode_data.py --check    computes them anew and compares them with what is committed

chapters/10_tokenizer/unicode_data.c has the ranges of letters, numbers and white space that Llama 3's pattern asks for: those of
Unicode 16, which is tiktoken's. chapters/14_engine/tokenizers/unicode_tables.c has the class of every code point, that is,
everything that a tokenizer.json may ask of a character: its general category (Unicode 16), whether \\s, \\w, \\p{Han}, the
pre-tokenizers Digits (Unicode 17), Punctuation (Unicode 7) and Whitespace accept it, and whether the normal forms of tokenizers,
which are those of Unicode 9, know it. The libraries themselves are asked about every code point.
"""
import importlib.metadata
import sys

from golden import HERE
import tiktoken
from tokenizers import Regex, normalizers, pre_tokenizers

CHAPTERS = HERE.parents[1] / "chapters"
POINTS = [point for point in range(0x110000) if not 0xd800 <= point < 0xe000]
TEXT = "".join(map(chr, POINTS))
WIDTH = 100


def matches(pattern):
    """The code points that the pattern matches in tiktoken."""
    encoding = tiktoken.Encoding("bytes", pat_str=pattern, mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
    return set(map(ord, bytes(encoding.encode_ordinary(TEXT)).decode()))


def matches_in_tokenizers(pattern):
    split = pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(TEXT) for c in piece}


def alone(pre_tokenizer):
    """The code points that a pre-tokenizer cuts off from the letters beside them, each by itself."""
    pieces = pre_tokenizer.pre_tokenize_str("a".join(TEXT))
    return {ord(piece) for piece, _ in pieces if len(piece) == 1} - {ord("a")}


def filled(words, indent):
    """The words, as many in a line as fit."""
    lines, line = [], ""
    for word in words:
        if line and len(indent) + len(line) + 1 + len(word) > WIDTH:
            lines, line = [*lines, indent + line], ""
        line += (" " if line else "") + word
    return "\n".join([*lines, indent + line])


# --- Chapter 10's -----------------------------------------------------------------------------------------------------

def ranges():
    """(first, last, class) of letters, numbers and white space."""
    classes = {point: name for pattern, name in ((r"\p{L}", "L"), (r"\p{N}", "N"), (r"\s", "S")) for point in matches(pattern)}
    listed = []
    for point in sorted(classes):
        if listed and listed[-1][1:] == [point - 1, classes[point]]:
            listed[-1][1] = point
        else:
            listed.append([point, point, classes[point]])
    return listed


def unicode_data(versions):
    rows = filled((f"{{0x{first:x}, 0x{last:x}, {name}}}," for first, last, name in ranges()), "    ")
    return f"""/* Written by tests/golden/unicode_data.py, which asked {versions["tiktoken"]}. */
#include "10_tokenizer/utf8.h"

#define L LETTER
#define N NUMBER
#define S SPACE

const CharacterRange character_ranges[] = {{
{rows}
}};

const int character_range_count = sizeof character_ranges / sizeof *character_ranges;
"""


# --- The engine's -----------------------------------------------------------------------------------------------------

# General categories that a pattern can name. Punctuation, symbols and the rest, of which only the first letter can be, are one each.
CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "P", "S", "Zs", "Z", "C"]


def traits():
    """What else can be asked: name and code points."""
    han = matches(r"\p{Han}")
    return [
        ("BLANK", matches_in_tokenizers(r"\s")),
        ("HAN", han),
        ("WORD", matches_in_tokenizers(r"[\w]")),
        ("ONLY_WORD", matches_in_tokenizers(r"\w") - matches_in_tokenizers(r"[\w]")),
        ("RUST_WORD", {ord(c) for c in rust_word()}),
        ("DIGIT", alone(pre_tokenizers.Digits(individual_digits=True))),
        ("PUNCTUATION", alone(pre_tokenizers.Punctuation())),
        ("CASE_OF_S", {0x17f}),
        ("CASE_OF_K", {0x212a}),
        ("NEWER", set(POINTS) - matches(r"\p{age:9.0}") | {0x1cf2, 0x1cf3}),  # these two became letters in Unicode 12
    ]


def rust_word():
    """A character of a word makes one piece with the letters beside it."""
    for c in TEXT:
        pieces = pre_tokenizers.Whitespace().pre_tokenize_str(f"a{c}a")
        if len(pieces) == 1 and len(pieces[0][0]) == 3:
            yield c


def class_of_every_point():
    category = {}
    for name in CATEGORIES:
        points = matches(rf"\p{{{name}}}")
        if points != matches_in_tokenizers(rf"\p{{{name}}}"):
            sys.exit(f"tiktoken and tokenizers differ in {name}")
        for point in points:
            category.setdefault(point, name)
    its = {point: [] for point in POINTS}
    for name, points in traits():
        for point in points:
            its[point].append(name)
    return {point: (category[point], tuple(its[point])) for point in POINTS}


def run_lengths(classes, letters):
    """Each run of code points as its class's letter and, if it is longer than 1, its length."""
    runs = []
    for point in range(0x110000):
        kind = classes.get(point, ("C", ("NEWER",)))  # surrogates, which no text has
        if runs and runs[-1][0] == kind:
            runs[-1][1] += 1
        else:
            runs.append([kind, 1])
    return "".join(letters[kind] + (str(length) if length > 1 else "") for kind, length in runs)


def lower_cases():
    """Of the newer characters that have a lower case: first, last, and how far it is."""
    newer, lower, listed = dict(traits())["NEWER"], normalizers.Lowercase(), []
    for point in sorted(newer):
        small = lower.normalize_str(chr(point))
        if small == chr(point):
            continue
        if listed and listed[-1][1:] == [point - 1, ord(small) - point]:
            listed[-1][1] = point
        else:
            listed.append([point, point, ord(small) - point])
    return listed


def unicode_classes(versions):
    classes = class_of_every_point()
    kinds = list(dict.fromkeys(classes.values()))  # in the order of their first code points
    letters = dict(zip(kinds, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'()*+,-./:;<=>@[]^_`{|}~", strict=False))
    if len(letters) < len(kinds):
        sys.exit(f"{len(kinds)} classes are too many")
    rows = filled((f"{{'{letters[kind]}', \"{kind[0]}\", {' | '.join(kind[1]) or 0}}}," .replace("'''", "'\\''") for kind in kinds), "    ")
    text = run_lengths(classes, letters)
    width = WIDTH - 6
    runs = "\n".join(f'    "{text[i : i + width]}"' for i in range(0, len(text), width))
    cases = filled((f"{{0x{first:x}, 0x{last:x}, {further}}}," for first, last, further in lower_cases()), "    ")
    return f"""/* Written by tests/golden/unicode_data.py, which asked {versions["tiktoken"]} and {versions["tokenizers"]}. */
#include "14_engine/tokenizers/unicode_classes.h"

const UnicodeClass unicode_classes[] = {{
{rows}
}};

const int unicode_class_count = sizeof unicode_classes / sizeof *unicode_classes;

/* The classes of all code points from 0 on: a letter, and how many have it if that is more than one. */
const char unicode_class_runs[] =
{runs};

const NewerCase newer_cases[] = {{
{cases}
}};

const int newer_case_count = sizeof newer_cases / sizeof *newer_cases;
"""


def main():
    versions = {name: f"{name} {importlib.metadata.version(name)}" for name in ("tiktoken", "tokenizers")}
    differ = 0
    for name, compute in (("10_tokenizer/unicode_data.c", unicode_data), ("14_engine/tokenizers/unicode_tables.c", unicode_classes)):
        file, text = CHAPTERS / name, compute(versions)
        if "--check" not in sys.argv[1:]:
            file.write_text(text)
            print(f"{file.name} {len(text) / 1000:.1f} kB")
            continue
        same = file.exists() and file.read_text() == text
        print(f"{'ok  ' if same else 'FAIL'} {file.relative_to(CHAPTERS.parent)}")
        differ += not same
    return differ


if __name__ == "__main__":
    sys.exit(main())
