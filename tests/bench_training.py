"""How fast is training beside PyTorch, in float32, with AdamW and clipping?

    make bench-training

The same Llama (random weights, random texts) is trained by tests/bench_training.c, by PyTorch as it stands and by PyTorch after
torch.compile. Each is a process of its own, and they take turns of some seconds, one after the other, for the machine may be
shared: of each round the ratio counts, and of the rounds the middle one. On one thread a clock is taken that stands still while
other programs have the processor. Memory is what a process had at most, less what it had before there was a model.
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUNDLED = json.loads((ROOT / "chapters/09_decoder/stories/model/config.json").read_text())
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

def memory():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def train(path, B, T, compiled):
    """For each line that comes: some seconds of steps, and tokens a second and memory as an answer."""
    import torch
    import transformers
    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    clock = time.process_time if threads == 1 else time.perf_counter
    started_with = memory()
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
    print("ready", flush=True)
    for _ in sys.stdin:
        steps, start = 0, clock()
        while steps == 0 or clock() - start < TURN:
            step()
            steps += 1
        print(B * T * steps / (clock() - start), memory() - started_with, flush=True)


# --- Turns ------------------------------------------------------------------------------------------------------

class Process:
    def __init__(self, command, threads, says_ready):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"OMP_NUM_THREADS": str(threads)})
        if says_ready:
            self.line()

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
        self.process.stdin.close()
        self.process.wait()


def measure(name, config, B, T, threads, program, with_torch):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        ours = Process([program, path, B, T], threads, False)
        theirs = {way: Process([sys.executable, __file__, "--train", path, B, T, way], threads, True)
                  for way in ("eager", "compiled") if with_torch}
        rounds = []
        for _ in range(ROUNDS):
            rounds.append((ours.turn(), {way: process.turn() for way, process in theirs.items()}))
        for process in [ours, *theirs.values()]:
            process.close()
    report(name, B, T, threads, rounds)


def report(name, B, T, threads, rounds):
    tokens, share = (statistics.median(f(ours) for ours, _ in rounds) for f in (lambda o: o[0], lambda o: o[1] / o[2]))
    print(f"{name}, batch {B} x {T}, {threads} thread{'s' * (threads > 1)}")
    print(f"  here             {tokens:8.0f} tokens a second   {rounds[-1][0][3] / 1e6:6.0f} MB   {100 * share:3.0f} % of FMA peak")
    for way in rounds[0][1]:
        speed = statistics.median(theirs[way][0] for _, theirs in rounds)
        print(f"  PyTorch {way:8} {speed:8.0f} tokens a second   {rounds[-1][1][way][1] / 1e6:6.0f} MB")
    if rounds[0][1]:
        ratio = statistics.median(ours[0] / max(theirs[way][0] for way in theirs) for ours, theirs in rounds)
        print(f"  here {ratio:.2f} times the better of them")
    print(flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "compiled")
    else:
        with_torch = torch_is_here()
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            for shape in SHAPES:
                measure(*shape, threads, sys.argv[1], with_torch)
