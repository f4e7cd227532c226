"""chapters/10_tokenizer/newer.c: the characters that a PCRE2 may know otherwise than tiktoken and tokenizers do.

    python tests/golden/stand_ins.py            writes the file anew
    python tests/golden/stand_ins.py --check    computes it anew and compares it with what is committed

What a letter is says Unicode, anew each year. The regular expressions of tiktoken and of tokenizers have Unicode 16: the one and
the other are asked here about every code point. Whatever was no character in Unicode 9, or has changed since, is listed, with
what it is in Unicode 16; the digits of 17, which the pre-tokenizer Digits knows, have a class of their own. Unicode 9 is what the normal forms of tokenizers know, and older than any PCRE2 that one still meets.

Lower case is of Unicode 17 there: a second list has those of the newer characters that have one.
"""
import importlib.metadata
import sys

from golden import HERE
import tiktoken
from tokenizers import Regex, normalizers, pre_tokenizers

FILE = HERE.parents[1] / "chapters/10_tokenizer/newer.c"
POINTS = [point for point in range(0x110000) if not 0xd800 <= point < 0xe000]
TEXT = "".join(map(chr, POINTS))
# What a pattern may ask for. The letters of Chinese script are a class of their own; all other signs are one.
CLASSES = {r"\p{Lu}": "UPPER", r"\p{Ll}": "LOWER", r"\p{Lm}": "MODIFIER", r"\p{Lo}": "LETTER", r"[\p{Han}&&\p{Lo}]": "HAN", r"\p{Mn}": "MARK",
           r"\p{Mc}": "SPACING", r"\p{Nd}": "DIGIT", r"\p{No}": "NUMBER", r"\p{P}": "PUNCTUATION", r"\p{S}": "SYMBOL", r"\p{Cf}": "FORMAT"}
# 0x1cf2 and 0x1cf3 became letters in Unicode 12. (UnicodeData.txt of 11 and 12)
CHANGED = {0x1cf2, 0x1cf3}
KNOWN = r"\p{age:9.0}"


def matches(pattern):
    """The code points that the pattern matches in tiktoken."""
    encoding = tiktoken.Encoding("bytes", pat_str=pattern, mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
    return set(map(ord, bytes(encoding.encode_ordinary(TEXT)).decode()))


def matches_in_tokenizers(pattern):
    split = pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(TEXT) for c in piece}


def ranges():
    known, classes = matches(KNOWN), {}
    for pattern, name in CLASSES.items():
        points = matches(pattern)
        if "&&" not in pattern and points != matches_in_tokenizers(pattern):
            sys.exit(f"tiktoken and tokenizers differ in {pattern}")
        classes |= dict.fromkeys(points, name)
    digits = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str("a".join(TEXT))
    newest = {ord(piece) for piece, _ in digits if len(piece) == 1 and ord(piece) not in known | classes.keys()}
    classes |= dict.fromkeys(newest, "NEWEST_DIGIT")
    if strange := matches(r"\p{age:16.0}") - known - classes.keys():
        sys.exit(f"these are of no class: {strange}")
    listed = []
    for point in POINTS:
        if point in known and point not in CHANGED:
            continue
        name = classes.get(point, "NONE")
        if listed and listed[-1][1:] == [point - 1, name]:
            listed[-1][1] = point
        else:
            listed.append([point, point, name])
    return listed


def lower_cases():
    """Of the newer characters: first, last, and how far their lower case is."""
    known, lower, listed = matches(KNOWN), normalizers.Lowercase(), []
    for point in POINTS:
        small = lower.normalize_str(chr(point))
        if point in known or small == chr(point):
            continue
        if listed and listed[-1][1:] == [point - 1, ord(small) - point]:
            listed[-1][1] = point
        else:
            listed.append([point, point, ord(small) - point])
    return listed


def rows(listed):
    lines, line = [], "   "
    for first, last, what in listed:
        entry = f"{{0x{first:x}, 0x{last:x}, {what}}},"
        if len(line) + 1 + len(entry) > 120:
            lines, line = [*lines, line], "   "
        line += " " + entry
    return chr(10).join([*lines, line])


def compute():
    versions = " and ".join(f"{name} {importlib.metadata.version(name)}" for name in ("tiktoken", "tokenizers"))
    return f"""/* Written by tests/golden/stand_ins.py, which asked {versions}. */
#include "10_tokenizer/stand_ins.h"

const Newer newer[] = {{
{rows(ranges())}
}};

const int newer_count = sizeof newer / sizeof *newer;

const NewerCase newer_cases[] = {{
{rows(lower_cases())}
}};

const int newer_case_count = sizeof newer_cases / sizeof *newer_cases;
"""


def main():
    text = compute()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text)
        print(f"{FILE.name} {len(text) / 1000:.1f} kB")
        return 0
    same = FILE.exists() and FILE.read_text() == text
    print(f"{'ok  ' if same else 'FAIL'} {FILE.relative_to(HERE.parents[1])}")
    return not same


if __name__ == "__main__":
    sys.exit(main())
