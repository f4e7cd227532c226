#!/usr/bin/env python3
"""Breaks the course's own kernels on purpose and counts how many breaks the golden values catch.

A mutant is a kernel's source with one small change: an operator flipped, a term dropped, an index or a bound
shifted, a constant bent. It is compiled to a shared library and judged by build/verify (and by tests/test_NAME.c
where a chapter has one). A mutant that passes shows a golden case that is missing - or computes the same function:
the compiler says so, which makes the same machine code of it, or EQUIVALENT below, with the reason why. First each file
is judged as it is: what does not pass itself can judge no mutant.

usage: make mutants    or    python3 tests/hardening/mutants.py [FILE.c …]
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = next(folder for folder in pathlib.Path(__file__).resolve().parents if (folder / "common").is_dir())
COMPILE = ["cc", "-std=c2x", "-O1", "-w", "-fopenmp", "-ffp-contract=fast", "-D_GNU_SOURCE", f'-DROOT="{ROOT}"', f'-DBUILD="{ROOT}/build"', "-I.", "-Ichapters", "-Wl,--allow-multiple-definition"]
LIBRARIES = ["-ljansson", "-lm"]
# What the library does not have, and a file calls, or is called by.
BESIDE = {
    "chapters/17_training/fast_training_kernels.c": ["chapters/17_training/fast_attention.c", "chapters/17_training/product.c"],
    "chapters/17_training/fast_attention.c": ["chapters/17_training/fast_training_kernels.c", "chapters/17_training/product.c"],
    "chapters/12_speed/flash_attention.c": ["chapters/17_training/fast_attention.c"],
}
# Fast kernels are judged by the names of those in the lessons.
FAST = ("rms_norm", "swiglu", "flash_attention")
RENAMED = [f"-Dfast_{name}={name}" for name in FAST]

# A file whose name is an older chapter's, or whose chapter has one test for several, has its tests elsewhere.
OTHERWISE = {"chapters/13_quantization/k_quants.c": "quantization", "chapters/17_training/fast_attention.c": "backward",
             "chapters/17_training/fast_training_kernels.c": "backward"}

# (what is found in a line of a function's body, what stands there instead)
MUTATIONS = [
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "),          # flip an operator
    (r"(?<=[(=\s,])-(?=[\w(])", ""), (r" \+= ", " = "), (r" \+= ", " -= "),
    (r" < ", " <= "), (r" < ", " > "), (r" <= ", " < "), (r" > ", " >= "),
    (r" \+ [\w.]+(\[\w+\])*", ""), (r" \* [\w.]+(\[\w+\])*", ""),                  # drop a term, a factor
    (r" / [\w.]+", ""), (r"\bsqrt\(", "("), (r"\b\w+ \? (\w+(\[\w+\])*) : 0", "0"),
    (r"\[(\w+)\]", r"[0]"), (r"\[(?!0\])(\w+)\]", r"[\1 ? \1 - 1 : 0]"),          # shift an index
    (r"(\w) = 0; \1 < ", r"\1 = 1; \1 < "), (r" < (\w+);", r" < \1 - 1;"),         # shift a bound
    (r"\b(\d+\.\d+)\b", r"(1.001 * \1)"), (r"(?<![\w.\[])([1-9])(?![\w.])", r"(\1 + 1)"),
]

# What is not changed, for it says nothing of what is computed: what is asked for before it is needed, and how the work is cut
# among registers, tiles and threads, which decide the speed and the last bits; and which element stands behind sizeof, for
# all of them are as large.
PREFETCH = r"__builtin_prefetch|\bask\(|\bfurther\(|\bnext_[kv]\b|\blater\b"
CUT = r"^ *(STEP|ROWS|TEAM|SETS) = |\bint share = 2 \* LANES |\bint parts = |\bbool few = |\(parts < 16 \?"
UNEVALUATED = r"\bsizeof [\w.>-]+(\[[^]]*\])*(\[[^]]*)?$"

# A mutant that computes the same function: (file, the changed line, stripped): the reason.
SAME_SUM = "sum((x + mean)(x - mean)) is sum((x - mean)^2), for sum(x - mean) is 0; in double it is as exact"
NORMS = "chapters/01_normalization/normalization.c"
ACTIVATION = "chapters/02_activation/activation.c"
ROPE = "chapters/05_rope/rope.c"
SCALING = "chapters/05_rope/scaling.c"
ATTENTION = "chapters/04_attention/attention.c"
GROUPED = "chapters/06_grouped_query/grouped_query.c"
PLAIN_FLASH = "chapters/08_flash_attention/flash_attention.c"
FLASH = "chapters/12_speed/flash_attention.c"
TRAIN = "chapters/10_tokenizer/bpe_train.c"
BPE = "chapters/10_tokenizer/bpe.c"
SAMPLING = "chapters/11_generation/sampling.c"
UNMASKED = "of a tile of which all is seen nothing is masked"
ALIKE = "of few queries both vectors have the same maxima"
EITHER = "where they are equal, either will do"
OVERRUN = "an overrun, for make sanitize to catch, and no other answer"
QUANTIZATION = "chapters/13_quantization/quantization.c"
K_QUANTS = "chapters/13_quantization/k_quants.c"
BLOCKS = "n is a multiple of the block: the last one begins well before the end"
BACKWARD = [f"chapters/16_backward/{name}_backward.c" for name in ("linear", "norms", "activation", "attention")]
EMPTY = "an empty block, or tile"
DECODER = "chapters/09_decoder/decoder.c"
ELEMENTWISE = "chapters/12_speed/elementwise.c"
FAST_TRAINING = "chapters/17_training/fast_training_kernels.c"
FAST_ATTENTION = "chapters/17_training/fast_attention.c"
ROOMY = "more room than is needed"
WHOLE = "its bound is a multiple of its step"
OPTIMIZER = "chapters/17_training/optimizer.c"
EQUIVALENT = {
    (OPTIMIZER, "double divisor = norm <= least ? least : norm; /* NaN stays NaN */"): EITHER,
    (OPTIMIZER, "const bool tall = rows >= columns; /* then it is turned: x x^T is as small as can be */"): "of a square matrix either will do",
    **{(file, f"for (int start = 0; start <= {size}; start += BLOCK) {{"): EMPTY for file, size in zip(BACKWARD, ("in", "dim", "n"))},
    (BACKWARD[1], "double weights[BLOCK] = {0}, biases[BLOCK ? BLOCK - 1 : 0] = {0};"): OVERRUN,
    (BACKWARD[1], "for (int i = 0; i < dim; i++) squares += (x[i] + mean) * (x[i] - mean);"): SAME_SUM,
    (BACKWARD[1], "for (int i = 0; i < dim; i++) squares += (x[i] - mean) * (x[i] + mean);"): SAME_SUM,
    **{(BACKWARD[2], f"float {arrays};"): OVERRUN for arrays in ("open[BLOCK ? BLOCK - 1 : 0], slope[BLOCK]",
                                                                 "open[BLOCK], slope[BLOCK ? BLOCK - 1 : 0]")},
    **{(BACKWARD[3], f"m[{at}] = -INFINITY;"): "where nothing overflows, any maximum will do"
       for at in ("0", "t ? t - 1 : 0")},
    **{(BACKWARD[3], line): "the first tile multiplies what was there by 0" for line in (
        "l[0] = 0;", "l[t ? t - 1 : 0] = 0;",
        "memset(O, 0, (size_t)T / sizeof *O);")},
    (BACKWARD[3], "for (int s = 0; s <= T; s += TILE) {"): EMPTY,
    ("chapters/16_backward/loss.c", "for (int v = 0; v < V; v++) max = x[v] >= max ? x[v] : max;"): EITHER,
    **{(ELEMENTWISE, f"for (; {end}; i += 4 * LANES) {{"): "what is left is computed in smaller steps"
       for size in ("dim", "n") for end in (f"i + 4 * LANES < {size}", f"i + (4 + 1) * LANES <= {size}")},
    (ELEMENTWISE, "for (; i + LANES < n; i += LANES) *(Vector *)&out[i] = gated(&gate[i], &up[i]);"): "what is left is computed number by number",
    **{(ELEMENTWISE, f"for (; i + 4 * LANES <= dim; i += {step}) {{"): "some are computed again, to the same" for step in ("4 / LANES", "4")},
    (FAST_TRAINING, "VecU32 negative = (VecU32)(gate <= 0);"): EITHER,
    (FAST_TRAINING, "for (int i = 0; i < whole - 1; i += LANES)"): "whole is a multiple of the lanes",
    **{(FAST_ATTENTION, f"int width = {width}, sets = {sets};"): ROOMY for width, sets in (
        *((f"(D + WIDE {more}", "(T + WIDE - 1) / WIDE") for more in ("+ 1) / WIDE * WIDE", "- 1) * WIDE * WIDE", "- 1) * WIDE")),
        *(("(D + WIDE - 1) / WIDE * WIDE", f"(T + WIDE {more}") for more in ("+ 1) / WIDE", "- 1) * WIDE", "- 1)")))},
    **{(BACKWARD[3], line): ROOMY for line in (
        "float(*p)[seen] = xmalloc((3 + 1) * sizeof *p), (*dp)[seen] = p + 1, (*dscore)[seen] = p + 2;",
        "double(*sums)[T][D] = xmalloc((2 + 1) * sizeof *sums);")},
    (FAST_ATTENTION, "for (int r = 0; r < rows - 1; r += ROWS) {"): WHOLE,
    (FAST_ATTENTION, "for (size_t i = 0; i < width - 1; i += WIDE) {"): WHOLE,
    **{(FAST_ATTENTION, f"float *room = xmalloc({more} * sizeof *room);"): ROOMY
       for more in ("(5 * numbers * rows)", "((5 + 1) * numbers + 2 * rows)", "(5 * numbers + (2 + 1) * rows)", "(4 + 1) * numbers")},
    (FAST_ATTENTION, "for (int t = 1; t < head->T; t++)"): "the first query sees one key, whose weight is 1 whatever it asks",
    (FAST_ATTENTION, "for (int s = 0; s <= T; s += KEYS) {"): EMPTY,
    (FAST_TRAINING, "for (int v = 0; v < V; v++) most = x[v] >= most ? x[v] : most;"): EITHER,
    **{(FAST_TRAINING, f"enum {{ PART = {size} }};"): "parts of another length round no worse" for size in ("64 / LANES", "64")},
    (FAST_TRAINING, "for (int first = 0; first <= V; first += PART) {"): EMPTY,
    (FAST_TRAINING, "for (int first = 0; first < V - 1; first += PART) {"): "no case has one number more than whole parts",
    (FAST_TRAINING, "int end = V - first <= PART ? V : first + PART, v = first;"): EITHER,
    (FAST_TRAINING, "for (; v + LANES < end; v += LANES) part += exp_negative(*(const Vector *)&x[v] - max);"): "the rest is added one by one",
    (FAST_TRAINING, "for (; v + LANES < V; v += LANES)"): "the rest is added one by one",
    (NORMS, "for (int i = 0; i < dim; i++) squares += (x[r][i] + mean) * (x[r][i] - mean);"): SAME_SUM,
    (NORMS, "for (int i = 0; i < dim; i++) squares += (x[r][i] - mean) * (x[r][i] + mean);"): SAME_SUM,
    (NORMS, "for (int r = 0; r < rows; r++) squares += (x[r][i] + mean) * (x[r][i] - mean);"): SAME_SUM,
    (NORMS, "for (int r = 0; r < rows; r++) squares += (x[r][i] - mean) * (x[r][i] + mean);"): SAME_SUM,
    (ACTIVATION, "out[i] = x[i] < 0 ? 0 : x[i]; /* not x > 0 ? x : 0, which would swallow NaN */"):
        "at x = 0 both answers are 0",
    (SCALING, "if (wavelength >= (float)(context / p->low_freq_factor)) return frequency / (float)p->factor;"):
        "the slide starts there: both answers are the same",
    (SCALING, "if (wavelength <= (float)(context / p->high_freq_factor)) return frequency;"):
        "the slide ends there: both answers are the same",
    (SCALING, "if (low == high) high += (1.001 * 0.001); /* or the slide would divide by zero */"):
        "any slide that is narrower than a pair is the same step",
    (SCALING, "return factor < 1 ? 1 : 0.1 * mscale * log(factor) + 1;"): "log(1) is 0: both answers are 1",
    (ROPE, "float(*matrix)[D] = xmalloc((size_t)D / sizeof *matrix);"):
        "an overrun, for make sanitize to catch, and no other answer",
    (ROPE, "for (int h = 0; h <= H + KV; h++) rotate_head(D, out[t][h], qkv[t][h], cosine[t], sine[t]);"):
        "the first value is turned too, and then copied over",
    (ATTENTION, "for (int t = 0; t <= T; t++)"): "one more query, that sees all keys: nothing of it is masked",
    (ATTENTION, "for (int t = 0; t < T - 1; t++)"): "the last query sees all keys: nothing of it is masked",
    (ATTENTION, "for (int i = 0; i < n; i++) max = x[r][i] >= max ? x[r][i] : max;"): EITHER,
    (PLAIN_FLASH, "double score[keys ? keys - 1 : 0], scale = 1 / sqrt(D), before = *m;"): OVERRUN,
    (PLAIN_FLASH, "double m[rows ? rows - 1 : 0], l[rows], O[rows][D];"): OVERRUN,
    (PLAIN_FLASH, "l[r ? r - 1 : 0] = 0;"): "the first tile multiplies what was there by 0",
    (PLAIN_FLASH, "l[0] = 0;"): "the first tile multiplies what was there by 0, if it was a number",
    (PLAIN_FLASH, "memset(O[r ? r - 1 : 0], 0, sizeof O[r]);"): "the first tile multiplies what was there by 0, if it was a number",
    (PLAIN_FLASH, "for (int s = 0; s <= end; s += Bc) {"): "one more tile, of no keys",
    (PLAIN_FLASH, "if (seen >= 0)"):
        "a tile of which nothing is seen changes nothing",
    (PLAIN_FLASH, "for (int t = 0; t <= T; t += Br)"):
        "one more block, of no queries",
    (FLASH, "for (int s0 = 0; s0 <= end; s0 += KEYS) {"): "one more tile, of no keys",
    **{(FLASH, f"if (s0 + KEYS {of} set->last[0]) mask({queries}, score, s0, set->last);"): UNMASKED
       for queries in ("WIDE", "queries") for of in ("- 1 >=", "+ 1 >")},
    (FLASH, "float *room = xmalloc((3 + 1) * numbers * sizeof *room);"): ROOMY,
    (FLASH, "memset(to_v, 0, KEYS / sizeof *to_v);"):
        "what was there weighs 0, and is a number here; make verify, which puts NaNs there, catches it",
    **{(FLASH, f"(*values)[{width}] = (const void *)tile->v.first;"):
           "of the values the first row alone is named" for width in ("0", "width ? width - 1 : 0")},
    (FLASH, "decode_part(queries, each, (void *)sets[part], (int)first, (int)(end <= S ? end : S), &p);"): EITHER,
    **{(FLASH, line): WHOLE for line in (
        "for (int c = 0; c < width - 1; c += 2 * LANES)", "for (int i = 0; i < width - 1; i += ROWS) {",
        "for (int first = 0; first < queries - 1; first += rows) {")},
    (FLASH, "if (s0 + KEYS >= end || p->width != p->D) return copied_tile(g, s0, end, p, copy);"): "a copy of a tile is as good",
    **{(FLASH, f"set.out = memset(room, 0, (size_t){less} sizeof *room);"):
           "the first tile multiplies what was there by 0" for set in ("queries", "WIDE") for less in (f"{set} * p->width /", f"{set} / p->width *")},
    **{(FLASH, f"return (Problem){{T, S, H, KV, D, {more}, q, k, v}};"): "more numbers, which are zeros"
       for more in ("(D + two + 1) / two * two", "(D + two - 1) * two")},
    **{(FLASH, f"Vector max = vector_max({both});"): ALIKE for c in ("0", "c ? c - 1 : 0")
       for both in (f"into->max[{c}], from->max[c]", f"into->max[c], from->max[{c}]")},
    **{(FLASH, f"{weight}[c] = exp_negative({of}->max[{c}] - max);"): ALIKE
       for weight, of in (("old", "into"), ("new", "from")) for c in ("0", "c ? c - 1 : 0")},
    **{(FLASH, f"into->sum[c] = old[{i}] * into->sum[c] + new[{j}] * from->sum[c];"): ALIKE
       for c in ("0", "c ? c - 1 : 0") for i, j in ((c, "c"), ("c", c))},
    **{(FLASH, f"int group = H / KV, queries = group > FOUR ? EIGHT : FOUR, tiles = (S + KEYS {more};"):
           "tiles behind the end are empty" for more in ("+ 1) / KEYS", "- 1) * KEYS", "- 1)")},
    **{(DECODER, line): "one more row, of the room behind: nobody needs what is there" for line in (
        "for (int t = 0; t <= T; t++) d->kernels->swiglu(F, out[t], gate[t], up[t]);", "for (int t = 0; t <= T; t++)",
        "for (int t = 0; bias && t <= T; t++)")},
    **{(DECODER, f"float inv_freq[{more}], factor = rope_frequencies(D, inv_freq, &d->model->config.rope, whole);"): ROOMY
       for more in ("D", "D * 2")},
    (DECODER, ".last_hidden = floats((1 + 1), c->C),"): ROOMY,
    **{(TRAIN, f"bool together = {beyond} n && ids[i] == left && ids[i + 1] == right;"): OVERRUN for beyond in ("i - 1 <", "i + 1 <=", "i <")},
    (BPE, "return a->rank < b->rank || (a->rank == b->rank && a->left <= b->left);"): "of two at one place, one is stale",
    (BPE, "for (int child; (child = 2 * i + 1) <= heap->count; i = child) {"): "behind the others stands the last, which is not before itself",
    **{(BPE, f"if ({there} heap->count && before(&c[child + 1], &c[child])) child++;"):
           "behind the others stands the last, and if it is before this child, its place is here"
       for there in ("child - 1 <", "child + 1 <=", "child <")},
    (BPE, "if (left < 0 || symbols[left].next <= 0) return;"): "the first symbol is nobody's next",
    (BPE, "return left->length == 0 || left->next <= 0 ||"):
        "the first symbol is nobody's next",
    **{(BPE, f"if (left < 0 || symbols[{which}].next < 0) return;"): OVERRUN for which in ("0", "left ? left - 1 : 0")},
    (BPE, "symbols[i].next = i + 1 < count ? i + 1 : -(1 + 1);"):
        "any negative number is an end",
    (BPE, "while (heap.count >= 0) {"): "one more candidate, from the empty heap, is the last again, and stale",
    (BPE, "for (int i = 0; i < count - 1; i++) push_pair(&heap, vocabulary, text, symbols, i);"): "the last symbol has no neighbour to merge with",
    (SAMPLING, "out[v] = !seen[v] ? logits[v] : logits[v] <= 0 ? logits[v] * penalty : logits[v] / penalty;"): "zero is zero either way",
    (SAMPLING, "int count = k <= V ? k : V;"): EITHER,
    (SAMPLING, "for (int i = 0; i <= count; i++) heap[i] = -INFINITY;"): OVERRUN,
    (SAMPLING, "if (x < heap[below]) break;"): EITHER,
    (SAMPLING, "if (below + 1 < k && heap[below + 1] <= heap[below]) below++;"): EITHER,
    (SAMPLING, "if (logits[v] >= heap[0]) replace_least(count, heap, logits[v]);"): EITHER,
    **{(SAMPLING, line): "glibc's merge sort then takes the later of two equal ones first, as it should"
       for line in ("int order = (x->logit <= y->logit) - (x->logit > y->logit);", "return order ? order : y->token + x->token;")},
    (SAMPLING, "for (int v = 0; v <= V; v++)"): OVERRUN,
    (SAMPLING, "for (int v = 0; v < V && before < u * sum; v++) {"): "a draw that falls on a border is nobody's",
    **{(SAMPLING, f"if (s->top_p {of}) top_p(V, logits, logits, s->top_p);"): "of a whole all are kept" for of in ("<= 1", "< (1 + 1)")},
    (SAMPLING, "if (s->min_p >= 0) min_p(V, logits, logits, s->min_p);"): "of 0 times the largest all are kept",
    **{(SAMPLING, f"if (exp((double)logits[v] - most){more} >= least)"):
           "more candidates, of which none is kept" for more in ("", " * sum")},
    (SAMPLING, "for (int i = 0; i <= count && (i == 0 || before < p); i++) {"): OVERRUN,
    (QUANTIZATION, "most = (bits[j] & INT32_MAX) >= most ? bits[j] & INT32_MAX : most;"): EITHER,
    (QUANTIZATION, "for (int i = 1; i < n; i += BLOCK, w++, a++) {"): BLOCKS,
    (QUANTIZATION, "levels[j] = (int8_t)(x[j] <= 0 ? -magnitude : magnitude);"): "the magnitude of zero is zero",
    (QUANTIZATION, "for (int i = 0; i < n - 1; i += BLOCK, block++)"): BLOCKS,
    (QUANTIZATION, "if (x[j] <= low) low = x[j];"): EITHER,
    (QUANTIZATION, "if (x[j] >= high) high = x[j];"): EITHER,
    (QUANTIZATION, "for (int i = 0; i < n - 1; i += BLOCK, block++) {"): BLOCKS,
    (QUANTIZATION, "for (int i = 0; i < n - 1; i += BLOCK, w++, a++) {"): BLOCKS,
    (K_QUANTS, "for (int first = 0; first < n - 1; first += SUPER, block++) {"): BLOCKS,
}


# Functions beside a kernel that verify does not judge: the lesson's quoted run shows what they do.
UNJUDGED = {TRAIN: "in_one_word|most_frequent|learn|bpe_apply_merges"}


def unjudged_lines(path, source):
    """Their line numbers."""
    inside = False
    for number, line in enumerate(source):
        inside = inside or re.match(rf"\w[\w *]*\b({UNJUDGED[path]})\(", line) is not None
        if inside:
            yield number
        inside = inside and not line.startswith("}")


def bodies(source):
    """Where the functions' bodies are: (line number, from which column to which), comments left out."""
    depth, comment = 0, False
    for number, line in enumerate(source):
        start, end = None if depth == 0 else 0, len(line)
        for column, letter in enumerate(line):
            comment = comment or line.startswith("/*", column)
            if comment:
                end = min(end, column)
                comment = not line.startswith("*/", column - 1)
            elif letter == "{":
                depth += 1
                start = column if start is None else start
            elif letter == "}":
                depth -= 1
        if start is not None and start < end and not line.startswith("#"):
            yield number, start, end


def mutants(path):
    """Every mutant of a file: (line number, the changed line, the whole changed text)."""
    source = (ROOT / path).read_text().splitlines(keepends=True)
    seen = set()
    skipped = set(unjudged_lines(str(path), source)) if str(path) in UNJUDGED else set()
    for number, start, end in bodies(source):
        line = source[number]
        if number in skipped or re.search(f"{PREFETCH}|{CUT}", line):
            continue
        for pattern, replacement in MUTATIONS:
            for match in re.compile(pattern).finditer(line, start, end):
                if re.search(UNEVALUATED, line[:match.start()]):
                    continue
                changed = line[: match.start()] + match.expand(replacement) + line[match.end():]
                if changed != line and (number, changed) not in seen:
                    seen.add((number, changed))
                    yield number + 1, changed.strip(), "".join(source[:number] + [changed] + source[number + 1:])


def without_a_mutant():
    """The entries of EQUIVALENT that excuse nothing: the kernel has another text now."""
    changes = {path: {changed for _, changed, _ in mutants(pathlib.Path(path))} for path, _ in EQUIVALENT}
    return [(path, line) for path, line in EQUIVALENT if line not in changes[path]]


# The processor's seconds that a run may take, and what the file as it is may take of them: on the clock, a busy machine
# would be a verdict. What does nothing at all ends by the clock.
ITS_OWN, LONG, SANITIZED, CLOCK = 4, 12, 120, 900
# Many run at once: idle threads must not spin. And new memory is never zeros by luck.
PATIENT = {**os.environ, "OMP_WAIT_POLICY": "passive", "MALLOC_PERTURB_": "85"}


def run(*command, seconds=SANITIZED):
    limited = ("sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh", *command)
    try:
        return subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, errors="replace", env=PATIENT, timeout=CLOCK)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "FAIL: 0 of all: it does not come back", "")


def compiles(*arguments):
    return run(*COMPILE, *arguments).returncode == 0


class Original:
    """A file as it is, and what its mutants are judged with: build/verify, and the file's own test where it has one."""

    def __init__(self, path, build, folder):
        self.build, self.folder = build, tempfile.mkdtemp(dir=folder)
        self.text, self.code = (ROOT / path).read_text(), None
        self.beside = BESIDE.get(str(path), [])
        self.test = [str(test) for test in ROOT.glob(f"tests/**/test_{OTHERWISE.get(str(path), path.stem)}.c")]
        self.objects = {source: f"{self.folder}/{n}.o" for n, source in enumerate(self.beside + self.test)}
        for source, compiled in self.objects.items():
            compiles("-c", "-fPIC", source, "-o", compiled)
        fate = self.judge(self.text, False, ITS_OWN)
        self.trouble = None if fate == "alive" else f"{path}: as it is, it is {fate or 'not compiled'}: this judges no mutant"
        self.code = self.compiled(self.text, self.folder)

    def compiled(self, text, scratch):
        """The machine code of what a text in the file's place says; None: it is not C."""
        source, code = pathlib.Path(scratch, "mutant.c"), pathlib.Path(scratch, "mutant.o")
        source.write_text(text)
        return code.read_bytes() if compiles("-c", "-fPIC", str(source), "-o", str(code)) else None

    def linked(self, program, *arguments):
        return compiles(*arguments, f"{self.build}/libllama.a", "-lcmocka", *LIBRARIES, "-o", program)

    def overruns(self, scratch):
        """Does the sanitizer, in the file's own test, see it leave an array? What takes too long has shown nothing."""
        sanitizers = ["-fsanitize=address,undefined,bounds", "-fno-sanitize-recover=all"]
        if not self.linked(f"{scratch}/sanitized", *sanitizers, f"{scratch}/mutant.c", *self.beside, *self.test):
            return False
        said = run(f"{scratch}/sanitized").stderr
        return "Sanitizer" in said or "runtime error" in said

    def judge(self, text, excused, seconds=LONG):
        """'killed' by a golden case, by what must be refused or by a test, 'random' if only random shapes caught it,
        'alive'; 'same' if the compiler makes the same machine code of it as of the original; None: not C."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            mutant, library, program = f"{scratch}/mutant.o", f"{scratch}/mutant.so", f"{scratch}/test"
            beside, test = [self.objects[source] for source in self.beside], [self.objects[source] for source in self.test]
            code = self.compiled(text, scratch)
            if code is None or not self.linked(library, "-shared", "-fPIC", *RENAMED, f"{scratch}/mutant.c", *beside):
                return None
            if code == self.code:
                return "same"
            verdict = run(f"{self.build}/verify", "--timeout", "2", "--library", library, seconds=seconds)
            if re.search(r"^FAIL: (\d+ of|.* the contract says that fail\(\) refuses it)", verdict.stdout, re.M):
                return "killed"
            if test:
                if not self.linked(program, mutant, *beside, *test):
                    return None
                if run(program, seconds=seconds).returncode or not excused and self.overruns(scratch):
                    return "killed"
            return "random" if verdict.returncode else "alive"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="kernel sources; default: every chapter's, and linear.c")
    parser.add_argument("--build", default="build", help="where make has put verify and libllama.a (default: build)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try only one mutant in N")
    options = parser.parse_args()
    files = options.files
    known = [line.split()[0] for line in run(f"{options.build}/verify", "--list").stdout.splitlines() if line.strip()]
    COMPILE.extend(f"-Dfast_{name}={name}" for name in known)  # a fast body is judged under the reference's name
    # How wide a vector is must be the same in the library, so its -march=native and the like are taken from there.
    COMPILE.extend(re.findall(r"(?<= )-m\S+", pathlib.Path(options.build, "flags").read_text()))
    if not files:  # linear, and every chapter's file that defines a kernel that verify knows
        kernel = re.compile(rf"^\w[\w *]*\b(?:fast_)?({'|'.join(known)})\(", re.M)
        files = [pathlib.Path("common/linear.c")]
        files += sorted(p.relative_to(ROOT) for p in ROOT.glob("chapters/*/*.c")
                        if p.name not in ("main.c", "figures.c", "exercise.c") and kernel.search(p.read_text()))

    if stale := without_a_mutant():
        print(*(f"{path}: this is no mutant any more, take it out of EQUIVALENT: {line}" for path, line in stale), sep="\n")
        return 1

    counts, survivors, unused = {"killed": 0, "same": 0, "equivalent": 0}, 0, set(EQUIVALENT)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = [(path, *mutant) for path in files for mutant in mutants(path)][::options.every]
        originals = dict(zip(files, pool.map(lambda path: Original(path, options.build, folder), files)))
        if trouble := [original.trouble for original in originals.values() if original.trouble]:
            print(*trouble, sep="\n")
            return 1
        jobs = [(path, line, changed, pool.submit(originals[path].judge, text, (str(path), changed) in EQUIVALENT))
                for path, line, changed, text in tried]
        for done, (path, line, changed, future) in enumerate(jobs, 1):
            fate = future.result()
            if sys.stderr.isatty():
                print(f"\r{done} of {len(jobs)} mutants", end="", file=sys.stderr)
            if fate is None:
                continue
            if fate != "killed" and (str(path), changed) in EQUIVALENT:
                fate = "equivalent"
                unused.discard((str(path), changed))
            if fate in counts:
                counts[fate] += 1
            else:
                survivors += 1
                print(f"{path}:{line}: {'caught by random shapes alone' if fate == 'random' else 'survives'}: {changed}", flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for path, line in unused if options.every == 1 else ():  # an overrun may crash on one machine and not on the next
        if pathlib.Path(path) in files:
            print(f"note: {path}: listed as equivalent, but caught here: {line}")
    print(f"{counts['killed']} mutants killed by the golden values, {counts['same']} are the same machine code, "
          f"{counts['equivalent']} compute the same function (tests/hardening/mutants.py says why), {survivors} unexplained")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
