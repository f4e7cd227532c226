"""How fast is training beside PyTorch, in float32, with AdamW and clipping?

    make bench-training

The same Llama (random weights, random texts) is trained by tests/bench/bench_training.c, by PyTorch as it stands and by PyTorch after
torch.compile. Each is a process of its own, and they take turns of some seconds, one after the other, for the machine may be
shared: of each round the ratio counts, and of the rounds the middle one. On one thread a clock is taken that stands still while
other programs have the processor. Memory is what a process had at most, less what it had before there was a model.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUNDLED = json.loads((ROOT / "common/stories/model/config.json").read_text())
LARGER = {"model_type": "llama", "hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 6,
          "num_key_value_heads": 6, "vocab_size": 8192, "tie_word_embeddings": True, "max_position_embeddings": 256}
SHAPES = [("the course's model, 1.8M", BUNDLED, 8, 512), ("17M", LARGER, 8, 256)]
ROUNDS, TURN = 3, 3.0


def torch_is_here():
    try:
        import torch
        import transformers
        return True
    except ImportError as error:
        print(f"bench-training: without PyTorch: {sys.executable} has no {error.name} (make venv)\n")
        return False


# --- One of PyTorch's processes ---------------------------------------------------------------------------------

def memory(process):
    """The most that a process had, in bytes, where the system tells."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return math.nan
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def train(path, B, T, compiled):
    """Says what memory it has without a model; then, for each line that comes, trains for some seconds: tokens a second."""
    import torch
    import transformers
    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    clock = time.process_time if threads == 1 else time.perf_counter
    started_with = memory(os.getpid())
    config = transformers.LlamaConfig(**json.loads(pathlib.Path(path).read_text()))
    llama = transformers.LlamaForCausalLM(config).float()
    model = torch.compile(llama) if compiled else llama
    optimizer = torch.optim.AdamW(llama.parameters(), lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True)
    ids, targets = torch.randint(config.vocab_size, (2, B, T))

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(input_ids=ids, use_cache=False).logits
        torch.nn.functional.cross_entropy(logits.view(B * T, -1), targets.view(-1)).backward()
        torch.nn.utils.clip_grad_norm_(llama.parameters(), 1.0)
        optimizer.step()

    for _ in range(2):
        step()
    print(started_with, flush=True)
    for _ in sys.stdin:
        steps, start = 0, clock()
        while steps == 0 or clock() - start < TURN:
            step()
            steps += 1
        print(B * T * steps / (clock() - start), flush=True)


# --- Turns ------------------------------------------------------------------------------------------------------

class Process:
    def __init__(self, command, threads):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"OMP_NUM_THREADS": str(threads)})
        self.before = float(self.line())

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench-training: {self.process.args[:3]} has ended")
        return line

    def turn(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return [float(word) for word in self.line().split()]

    def close(self):
        """Its memory, less what it had before the model."""
        most = memory(self.process.pid)
        self.process.stdin.close()
        self.process.wait()
        return most - self.before


def measure(name, config, B, T, threads, program, with_torch):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        processes = {"here": Process([program, path, B, T], threads)}
        for way in ("eager", "compiled") if with_torch else ():
            processes[f"PyTorch, {way}"] = Process([sys.executable, __file__, "--train", path, B, T, way], threads)
        rounds = [{who: process.turn() for who, process in processes.items()} for _ in range(ROUNDS)]
        memories = {who: process.close() for who, process in processes.items()}
    report(f"{name}, batch {B} x {T}, {threads} thread{'s' * (threads > 1)}", rounds, memories)


def report(title, rounds, memories):
    print(title)
    for who, memory in memories.items():
        print(f"  {who:18}{statistics.median(r[who][0] for r in rounds):8.0f} tokens a second {memory / 1e6:7.0f} MB", end="")
        print(f"   {100 * statistics.median(r[who][1] / r[who][2] for r in rounds):3.0f} % of FMA peak" if who == "here" else "")
    ratios = [r["here"][0] / max(r[who][0] for who in r if who != "here") for r in rounds if len(r) > 1]
    if ratios:
        print(f"  here {statistics.median(ratios):.2f} times the better of PyTorch's ({min(ratios):.2f} to {max(ratios):.2f})")
    print(flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "compiled")
    else:
        with_torch = torch_is_here()
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            for shape in SHAPES:
                measure(*shape, threads, sys.argv[1], with_torch)
