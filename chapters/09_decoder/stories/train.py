"""Trains the model of this chapter: a small Llama that reads short stories and answers questions about them.

    python train.py                     stories, vocabulary, training, examination: under an hour on two cores

Everything on the way is kept in build/training/: killed and started again, it goes on where it was. What comes out lies beside
this file: model/, a folder as transformers saves it, and train.log.
"""
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import numpy
import sentencepiece
import torch
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "training"
MODEL = HERE / "model"

SEED, LUCK = 2026, 16_410_600  # of the first weights; of the word lists and lessons, a step each
TRAINING, UNSEEN = (240_000, 1), (1_000, 2)  # so many stories, with this seed of the generator
EXAMINED = 200                               # stories written by the model itself
VOCABULARY, CONTEXT = 1024, 512
SORTED = 60_000  # of the training stories, the shortest first
BATCH = 8 * CONTEXT  # tokens of a step
WORDS, LESSON, STORIES = 1800, 150, 8_000  # steps: of word lists, of each lesson, of stories
WARMUP, LEAST, DECAY, CLIP = 50, 0.01, 0.02, 1.0  # LEAST: the last rate, as a share of the first
WORDS_RATE, MATRIX_RATE, OTHER_RATE = 0.01, 0.005, 0.002
ANSWER = 5  # how much more an answer's tokens count: a story goes on as it likes, but an answer follows from what was read
REPORT, SAVE = 50, 500  # steps

CONFIG = LlamaConfig(
    vocab_size=VOCABULARY, hidden_size=192, intermediate_size=512, num_hidden_layers=4, num_attention_heads=6,
    num_key_value_heads=2, head_dim=32, max_position_embeddings=CONTEXT, rms_norm_eps=1e-5, tie_word_embeddings=True,
    initializer_range=192**-0.5,  # at the usual 0.02 nothing was looked up after three million tokens
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, bos_token_id=1, eos_token_id=2)


def generator(*arguments, text=None):
    """What build/stories prints."""
    return subprocess.run([ROOT / "build" / "stories", *map(str, arguments)], input=text, check=True,
                          capture_output=True, text=True).stdout


def stories(count, seed):
    return generator("--count", count, "--seed", seed).rstrip("\n").split("\n\n")


def vocabulary():
    """A SentencePiece BPE with Llama 2's options, learned from 12000 stories. What is there is kept: the one in model/ was
    learned from stories of up to three things."""
    path = MODEL / "tokenizer.model"
    if not path.exists():
        lines = "\n".join(stories(12_000, TRAINING[1])).split("\n")
        with open(path, "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=file, model_type="bpe", vocab_size=VOCABULARY, byte_fallback=True,
                normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
                allow_whitespace_only_pieces=True, character_coverage=1.0, num_threads=1, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def tokens(tokenizer, texts):
    """All stories in one row, each between BOS and EOS."""
    rows = tokenizer.encode(texts, add_bos=True, add_eos=True, num_threads=2)
    return torch.tensor(list(itertools.chain.from_iterable(rows)))


def training_tokens(tokenizer):
    path = BUILD / "tokens.npy"
    if not path.exists():
        texts = stories(*TRAINING)
        texts[:SORTED] = sorted(texts[:SORTED], key=len)
        numpy.save(path, tokens(tokenizer, texts).numpy().astype(numpy.int16))
    return torch.from_numpy(numpy.load(path).astype(numpy.int64))


# ---------------------------------------------------------------- before the stories
#
# Who reads "Where is Anna?" must look for Anna, and for what was said of her. Stories alone do not teach it: too few of their
# tokens need it, and until it works they are as well guessed without. Three million tokens later nothing was looked up. So the
# model first learns to copy, where every token needs it, then to look up one word by another next to it, and then with more
# and more words between the two, until the lesson is a question.

def story_words():
    """The generator's words by kind: names, manners, kinds, places, colours, things."""
    found = re.findall(r"const char \*const (\w+)\[\] = \{([^}]*)\}", (HERE / "words.h").read_text())
    return {kind: re.findall(r'"(\w+)"', words) for kind, words in found}


def word_lists(random, tokenizer, words, rows=64, count=32):
    """Rows of `count` words, and the same again in shuffled pieces of 2, 4 or 8: inside a piece each word says the next."""
    every = [tokenizer.piece_to_id("▁" + word) for kind in words for word in words[kind]]
    size = random.choice([2, 4, 8])
    ids, weight = [], []
    for _ in range(rows):
        first = random.sample(every, count)
        pieces = [first[i:i + size] for i in range(0, count, size)]
        random.shuffle(pieces)
        ids.append([CONFIG.bos_token_id] + first + sum(pieces, []))
        weight.append([0.0] * (1 + count) + [float(i % size > 0) for i in range(count)])
    return torch.tensor(ids), torch.tensor(weight)


# What is said of somebody, and how it is asked for. What stands behind the bar has to be known.
LESSONS = [
    ("{name} {place}.", "{name}|{place}."),
    ("{name} in {place}.", "{name} in|{place}."),
    ("{name} was {place}.", "{name} is|{place}."),
    ("{name} in the {place}.", "{name} in the|{place}."),
    ("{name} was in the {place}.", "{name} is in the|{place}."),
    ("{name} was in the {place}.", "\nQuestion: Where is {name}?\nAnswer:|{name} is in the {place}."),
    ("{name} {manner}.", "{name}|{manner}."),
    ("{name} a {manner} {kind}.", "{name} a|{manner} {kind}."),
    ("{name} was a {manner} {kind}.", "{name} is a|{manner} {kind}."),
    ("{name}, a {manner} {kind}.", "\nQuestion: Who is {name}?\nAnswer:|{name} is a {manner} {kind}."),
    ("{thing} {name}.", "{thing}|{name}."),
    ("{name} {thing}.", "{thing}|{name}."),
    ("{name} had a {colour} {thing}.", "{colour} {thing}|{name}."),
    ("{name} had a {colour} {thing}.", "\nQuestion: Who has the {colour} {thing}?\nAnswer:|{name} has the {colour} {thing}."),
    ("{name} had a {colour} {thing}.", "\nQuestion: What colour is the {thing}?\nAnswer:|The {thing} is {colour}."),
]


def lesson(number, random, tokenizer, words, rows=32, facts=4, length=128):
    """Rows of so many facts, then as many times one of them is asked for; one may be asked for again. Some rows repeat an
    earlier lesson, or it would be forgotten."""
    ids, weight = torch.full((rows, length), CONFIG.eos_token_id), torch.zeros(rows, length)
    for r in range(rows):
        said, asked = LESSONS[number if random.random() < 0.7 else random.randint(0, number)]
        drawn = {kind[:-1]: random.sample(words[kind], facts) for kind in words}
        known = [{kind: drawn[kind][i] for kind in drawn} for i in range(facts)]
        parts = [(said.format(**fact), 0.1) for fact in known]
        for _ in range(facts):
            before, after = asked.format(**random.choice(known)).split("|")
            parts += [(before, 0.1), (after, 1.0)]
        at = 1
        ids[r, 0] = CONFIG.bos_token_id
        for text, counts in parts:
            row = tokenizer.encode(text)[text.startswith("\n"):]  # no space stands before the end of a line
            ids[r, at:at + len(row)], weight[r, at:at + len(row)] = torch.tensor(row), counts
            at += len(row)
    return ids, weight


FIRST_STORY = WORDS + LESSON * len(LESSONS)
STEPS = FIRST_STORY + STORIES


def rates(step):
    """The learning rates of the matrices and of the rest: up in a line at first; with the stories, down in a cosine."""
    if step < WORDS:
        return WORDS_RATE * min(1, (step + 1) / WARMUP), OTHER_RATE
    share = LEAST + (1 - LEAST) * (1 + math.cos(math.pi * max(0, step - FIRST_STORY) / STORIES)) / 2
    return MATRIX_RATE * share, OTHER_RATE * share


# ---------------------------------------------------------------- the training

def weights(row, tokenizer):
    """1 for every token, ANSWER for those from behind "Answer:" to the end of the line."""
    answer = torch.tensor(tokenizer.encode("\nAnswer:")[2:])  # the first two are the space of every text, and the line's end
    found = (row.unfold(0, len(answer), 1) == answer).all(1).nonzero()[:, 0] + len(answer)
    ends = ((row == tokenizer.piece_to_id("<0x0A>")) | (row == CONFIG.eos_token_id)).nonzero()[:, 0]
    edges = torch.zeros(len(row) + 1)
    edges[found] += 1
    edges[ends[torch.searchsorted(ends, found)] + 1] -= 1
    return 1 + (ANSWER - 1) * edges.cumsum(0)[:-1]


def pieces(row, starts, story_step):
    """Where this step's tokens are: pieces that begin with a story, half of CONTEXT long in most steps."""
    length = CONTEXT // 2 if story_step < STORIES * 7 // 10 else CONTEXT
    first = story_step * BATCH + torch.arange(0, BATCH, length)
    return starts[torch.searchsorted(starts, first)][:, None] + torch.arange(length)


def batches(row, weight, tokenizer):
    """What each step reads: (ids, how much each token counts)."""
    starts = (row == CONFIG.bos_token_id).nonzero()[:, 0]
    words = story_words()

    def batch(step):
        luck = random.Random(LUCK + step)
        if step < WORDS:
            return word_lists(luck, tokenizer, words)
        if step < FIRST_STORY:
            return lesson((step - WORDS) // LESSON, luck, tokenizer, words)
        piece = pieces(row, starts, step - FIRST_STORY)
        return row[piece], weight[piece]
    return batch


def loss_of(model, ids, weights=None):
    """Mean of -log p(token), in nats, without each piece's first."""
    logits = model.lm_head(model.model(ids).last_hidden_state[:, :-1]).float()
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return losses.mean() if weights is None else (losses * weights[:, 1:].flatten()).sum() / weights[:, 1:].sum()


def train(batch):
    """The trained model; what was saved on the way is taken up again."""
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(CONFIG)
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "layers" in name]
    others = [p for name, p in model.named_parameters() if p.dim() == 1 or "layers" not in name]
    optimizers = [torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=DECAY),
                  torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0, fused=True)]
    first, spent, lines, saved = 0, 0.0, [], BUILD / "training.pt"
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        for optimizer, its in zip(optimizers, state["optimizers"]):
            optimizer.load_state_dict(its)
        first, spent, lines = state["step"], state["spent"], state["lines"]
    if shutil.which("g++"):  # what torch.compile needs on a CPU; it makes a step a third shorter
        model.set_attn_implementation("eager")
        model.model.compile(dynamic=False)
    start = time.monotonic() - spent
    for step in range(first, STEPS):
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, *batch(step))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer, rate in zip(optimizers, rates(step)):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
            optimizer.zero_grad()
        spent = time.monotonic() - start
        if (step + 1) % REPORT == 0:
            lines.append(f"{step + 1} {loss.item():.4f} {rates(step)[0]:.6f} {spent:.0f}")
            left = spent / (step + 1) * (STEPS - step - 1)
            print(f"step {step + 1} of {STEPS}   loss {loss.item():.4f}   {spent / 60:.1f} min, {left / 60:.1f} to go",
                  end="\n" if (step + 1) % SAVE == 0 else "\r", file=sys.stderr, flush=True)
        if (step + 1) % SAVE == 0 or step + 1 == STEPS:
            state = {"model": model.state_dict(), "optimizers": [optimizer.state_dict() for optimizer in optimizers],
                     "step": step + 1, "spent": spent, "lines": lines}
            torch.save(state, saved.with_suffix(".new"))
            os.replace(saved.with_suffix(".new"), saved)
    with open(HERE / "train.log", "w") as file:
        print("# step, loss (nats a token), learning rate of the matrices, seconds", *lines, sep="\n", file=file)
    return model


# ---------------------------------------------------------------- what it has learned


def perplexity(model, tokenizer, texts):
    """exp of the mean -log p over all tokens of each story, its EOS too."""
    total = count = 0
    for text in texts:
        ids = tokens(tokenizer, [text])[None]
        total += loss_of(model, ids).item() * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    return math.exp(total / count)


def continued(model, tokenizer, prompts, length, **how):
    """Each prompt with what the model says next, up to EOS."""
    bos, eos = tokenizer.bos_id(), tokenizer.eos_id()
    rows = [[bos] + tokenizer.encode(prompt) for prompt in prompts]
    longest = max(map(len, rows))
    ids = torch.tensor([[eos] * (longest - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    out = model.generate(ids, attention_mask=mask, max_new_tokens=length, pad_token_id=eos, **how)
    said = [list(itertools.takewhile(lambda id: id != eos, new)) for new in out[:, longest:].tolist()]
    return [tokenizer.decode(row + new) for row, new in zip(rows, said)]


def in_groups(items, size=50):
    return [items[i:i + size] for i in range(0, len(items), size)]


def answered(model, tokenizer, texts):
    """Each question of these stories on its own, straight after its story, with the model's answer."""
    prompts = []
    for text in texts:
        story, *questions = re.split(r"\n(?=Question:)", text)
        prompts += [story + "\n" + question[:question.index("Answer:") + 7] for question in dict.fromkeys(questions)]
    texts = [text for group in in_groups(prompts) for text in continued(model, tokenizer, group, 16, do_sample=False)]
    return ["\nAnswer:".join([before, answer.split("\n")[0]]) for before, answer in (text.split("\nAnswer:", 1) for text in texts)]


def own_stories(model, tokenizer, count):
    torch.manual_seed(SEED)
    return [text for group in in_groups([""] * count)
            for text in continued(model, tokenizer, group, CONTEXT - 1, do_sample=True, temperature=1.0, top_k=0)]


KINDS = {"Who has": "Who has the red ball?", "Where is the": "Where is the red ball?", "Who found": "Who found the red ball?",
         "What": "What colour is the ball?", "Who is": "Who is Anna?", "Where is [A-Z]": "Where is Anna?"}


def judged(texts):
    """Of stories, as the generator counts them: (consistent, all, questions answered rightly, all questions)."""
    last = generator("--check", "-", text="\n\n".join(texts)).splitlines()[-1]
    return tuple(map(int, re.findall(r"\d+", last)))


# ---------------------------------------------------------------- what is committed

CARD = """# Stories: a Llama of {parameters} weights

It reads short stories about who is where and who has what, in English, and answers questions about them. It exists so that every
chapter from here on has a trained model to run, with no download. It knows {words} words and nothing of the world.

| | |
|---|---|
| architecture | `LlamaForCausalLM`: {layers} layers of width {width}, {heads} query heads and {kv} key/value heads of {head}, SwiGLU of {hidden}, tied, context {context} |
| weights | BF16, {size} bytes |
| vocabulary | {vocabulary} pieces, SentencePiece BPE with byte fallback, Llama 2's options |
| text | {stories} stories, {tokens} tokens, written by [stories.c](../stories.c) with seed {seed}, of which the first {read} tokens are read; no story of the numbers below is among them |
| training | {lists} steps of word lists, {lessons} of lessons, {steps} of stories, {batch} tokens each; {minutes} minutes on {threads} threads: [train.py](../train.py), [train.log](../train.log) |

| measured in float32, on the weights as they are in the file | |
|---|---|
| perplexity of a token, {unseen} unseen stories | {perplexity:.3f} |
| questions about these stories answered rightly, greedily | {right} of {questions} ({share:.1%}) |
{by_kind}
| stories that it writes itself (temperature 1) whose facts are consistent | {consistent} of {examined} ({own:.1%}) |
| questions that it asks itself about those, and answers rightly | {own_right} of {own_questions} |

Whether a story is consistent and an answer right is judged by the generator, which reads the text with the same wordings and rules
that it writes with: `build/stories --check FILE`.

![The loss while it was trained](../../../../figures/09_training.svg)

Who somebody is, who has a thing and who found it, it nearly always knows; where somebody or something is, nineteen times of
twenty; what colour it is, four times of five. Of the stories that it writes itself, two of five contradict nothing that they have
said. It can be wrong, and does not know when. It is not made for anything but this course. MIT licence, as all of it.
"""


def save(model):
    """In BF16, as transformers does it; opened again, so that what is examined is what is in the file."""
    model.to(torch.bfloat16).save_pretrained(MODEL)
    (MODEL / "model.safetensors").chmod(0o644)
    (MODEL / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True,
         "legacy": False, "model_max_length": CONTEXT}, indent=2) + "\n")
    return LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()


def examine(model, tokenizer, seen):
    texts = stories(*UNSEEN)
    assert not {text.split("\nQuestion")[0] for text in texts} & seen, "an unseen story was trained on"
    log = (HERE / "train.log").read_text().splitlines()
    answers = answered(model, tokenizer, texts)
    _, _, right, questions = judged(answers)
    by_kind = {kind: judged([text for text in answers if re.search("Question: " + kind, text)])[2:] for kind in KINDS}
    consistent, _, own_right, own_questions = judged(own_stories(model, tokenizer, EXAMINED))
    (MODEL / "README.md").write_text(CARD.format(
        parameters=sum(p.numel() for p in model.parameters()), words=len(set(re.findall(r"\w+", " ".join(texts)))),
        layers=CONFIG.num_hidden_layers, width=CONFIG.hidden_size, heads=CONFIG.num_attention_heads, kv=CONFIG.num_key_value_heads,
        head=CONFIG.head_dim, hidden=CONFIG.intermediate_size, context=CONTEXT, size=(MODEL / "model.safetensors").stat().st_size,
        vocabulary=VOCABULARY, stories=TRAINING[0], tokens=len(training_tokens(tokenizer)), seed=TRAINING[1], read=STORIES * BATCH,
        lists=WORDS, lessons=LESSON * len(LESSONS), steps=STORIES, batch=BATCH,
        by_kind="\n".join(f"| … {name} | {k_right} of {k_all} |" for name, (k_right, k_all) in zip(KINDS.values(), by_kind.values())),
        minutes=round(float(log[-1].split()[3]) / 60), threads=torch.get_num_threads(), unseen=len(texts),
        perplexity=perplexity(model, tokenizer, texts), examined=EXAMINED, right=right, questions=questions, share=right / questions,
        consistent=consistent, own=consistent / EXAMINED, own_right=own_right, own_questions=own_questions))


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    MODEL.mkdir(exist_ok=True)
    tokenizer = vocabulary()
    row = training_tokens(tokenizer)
    model = save(train(batches(row, weights(row, tokenizer), tokenizer)))
    with torch.no_grad():
        examine(model, tokenizer, {text.split("\nQuestion")[0] for text in stories(*TRAINING)})
    print((MODEL / "README.md").read_text())


if __name__ == "__main__":
    main()
