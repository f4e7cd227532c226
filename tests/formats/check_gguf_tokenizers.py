"""Are the ids of a tokenizer in a GGUF file those of the model's own tokenizer.json, and those of llama.cpp, whatever the text?

    make compat-tokenizers
    python tests/formats/check_gguf_tokenizers.py build/check_tokenizer

For each name that tokenizer.ggml.pre has, the vocabulary of tests/golden/10_others.py goes into a GGUF file; thousands of difficult
strings are encoded by ours, by the library tokenizers and, if the package xllamacpp is installed, by llama.cpp (2026.10.11549 was).

llama.cpp's splits are in some places no more than close to the models' own, and there ours follows the models':
- it has other versions of Unicode, and takes 's, 'll and so on of ASCII's letters alone, where the long s and the Kelvin sign count, too;
- in tekken and gpt-4o it has no classes of large and small letters, but "not a-z" and "not A-Z", and marks are none of them;
- in the two first DeepSeek ones, blanks of other scripts (U+3000) are none of the signs and characters between which they are listed;
- smaug-bpe does not look for a whole word first, as Llama 3's vocabulary wants it, which such files have.
Strings where that matters are left out beside llama.cpp.
"""
import ctypes
import importlib.util
import pathlib
import random
import sys
import tempfile
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "golden")]
check, others = importlib.import_module("check_tokenizers"), importlib.import_module("10_others")
STRINGS = 5000


class Parameters(ctypes.Structure):
    """llama_model_params of llama.h."""
    _fields_ = [("devices", ctypes.c_void_p), ("overrides", ctypes.c_void_p), ("gpu_layers", ctypes.c_int32), ("modes", ctypes.c_int * 3),
                ("main_gpu", ctypes.c_int32), ("tensor_split", ctypes.c_void_p), ("progress", ctypes.c_void_p), ("data", ctypes.c_void_p),
                ("pairs", ctypes.c_void_p), ("flags", ctypes.c_bool * 16)]


class LlamaCpp:
    """llama.cpp's tokenizer of a GGUF file, out of the library that the package xllamacpp brings with it."""
    lib = None

    def __init__(self, path):
        lib = LlamaCpp.open_library()
        parameters = lib.llama_model_default_params()
        parameters.flags[0] = True  # vocab_only
        self.model = lib.llama_model_load_from_file(str(path).encode(), parameters)
        if not self.model:
            sys.exit(f"{path}: llama.cpp does not open it")
        self.vocab = lib.llama_model_get_vocab(ctypes.c_void_p(self.model))

    @classmethod
    def open_library(cls):
        if cls.lib:
            return cls.lib
        where = pathlib.Path(importlib.util.find_spec("xllamacpp").origin).parent / "xllamacpp.abi3.so"
        cls.lib = lib = ctypes.CDLL(str(where))
        lib.llama_model_default_params.restype = Parameters
        lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Parameters]
        lib.llama_model_load_from_file.restype = lib.llama_model_get_vocab.restype = ctypes.c_void_p
        cls.silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda level, text, data: None)
        lib.llama_log_set(cls.silent, None)
        return lib

    def encode(self, text, special):
        data = text.encode()
        ids = (ctypes.c_int32 * (len(data) + 16))()
        return ids[: self.lib.llama_tokenize(ctypes.c_void_p(self.vocab), data, len(data), ids, len(ids), ctypes.c_bool(False), ctypes.c_bool(special))]


def has_llama_cpp():
    if importlib.util.find_spec("xllamacpp"):
        return True
    print("llama.cpp: skipped: pip install xllamacpp")
    return False


def gguf_file(path, **pairs):
    """A GGUF file with a vocabulary and no weights, of which llama.cpp wants to know how large they are."""
    path.write_bytes(others.golden.gguf_file(context_length=64, embedding_length=64, block_count=1, feed_forward_length=64, head_count=1,
                                             layer_norm_rms_eps=1e-5, **pairs))


def ours(program, path, folder, texts):
    """The ids of each text, with special tokens and without."""
    questions = [(what, text.encode()) for text in texts for what in (check.ENCODE, check.ENCODE_SPECIAL)]
    return list(check.answers(program, path, folder, questions))


def is_alike(text, pre):
    """Whether llama.cpp's split means to cut this text as the model's own does."""
    for c in text:
        kind = unicodedata.category(c)
        if c in "ſ\u212a" or kind in ("Cn", "Co") or ord(c) > 0x323af:
            return False
        if pre in ("tekken", "gpt-4o", "llama4") and (kind[0] == "M" or kind[0] == "L" and not c.isascii()):
            return False
        if pre in ("deepseek-llm", "deepseek-coder") and c.isspace() and not c.isascii():
            return False
    return True


def report(name, whose, count, wrong):
    print(f"{name}: of {count} encodings {len(wrong)} are others than {whose}", flush=True)
    for text, got, right in sorted(wrong, key=lambda case: len(case[0]))[:3]:
        print("   ", repr(text), got, right)
    return len(wrong)


def compare(program, folder, name, pairs, library, texts, llama_cpp, alike):
    """How many ids of the texts are others than those of the library, and of llama.cpp."""
    path = folder / "x.gguf"
    gguf_file(path, **pairs)
    got = ours(program, path, folder, texts)
    cases = [(text, special, ids) for (text, special), ids in zip([(text, special) for text in texts for special in (False, True)], got)]
    def by_library(text, special):
        library.encode_special_tokens = not special
        return library.encode(text, add_special_tokens=False).ids
    wrong = [(text, ids, right) for text, special, ids in cases if ids != (right := by_library(text, special))]
    failed = report(name, "tokenizers'", len(cases), wrong)
    if llama_cpp:
        theirs = LlamaCpp(path)
        cases = [case for case in cases if alike(case[0])]
        wrong = [(text, ids, right) for text, special, ids in cases if ids != (right := theirs.encode(text, special))]
        failed += report(name, "llama.cpp's", len(cases), wrong)
    return failed


def main():
    program, chance, failed, llama_cpp = sys.argv[1], random.Random(14), 0, has_llama_cpp()
    parts = [*others.CUT, "<tool>", "  \n  ", "<|im_end|>"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        all_merges, some_merges = others.gguf_vocabulary(lonely=False), others.gguf_vocabulary()
        for names, steps in others.gguf_splits().items():
            for i, pre in enumerate(names.split()):  # the names that mean the same get fewer
                vocabulary = all_merges if pre == "smaug-bpe" else some_merges
                texts = [others.cut_text(chance, parts) if k % 3 else others.difficult(chance) for k in range(STRINGS // (10 if i else 1))]
                pairs = dict(tokenizer_model="gpt2", tokenizer_pre=pre, **others.gguf_pairs(vocabulary))
                failed += compare(program, folder, pre, pairs, others.with_split(vocabulary, *steps), texts, llama_cpp, lambda text: is_alike(text, pre))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
