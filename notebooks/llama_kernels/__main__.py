"""python -m llama_kernels: the judge on a command line."""
import argparse
import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np

from . import verify
from .library import CONTRACTS, Judging, mistakes


def load(path):
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(Path(path).resolve().parent))
    specification.loader.exec_module(module)
    return module


def show(kernel):
    judging = Judging(kernel)
    names = verify.argument_names(kernel, verify.all_input_names(judging))
    print(f"{CONTRACTS[kernel]['contract']}\n\nIn Python: {kernel}({', '.join(names)})\n")
    for name in names:
        if words := judging.words(name):
            print(f"Input {name}: {words}.")
    for case in range(len(judging)):
        print(f"  {judging.name(case):28} {str(list(judging.expected(case).shape)):16} {judging.sentence(case)}")
    print("\nKnown mistakes:")
    for name, advice in mistakes(kernel).items():
        print(f"  {name:28} {advice}")


def export(kernel, path, random, seed):
    judging = Judging(kernel)
    judging.add_random(seed, random)
    cases = {f"{judging.name(case)}/{name}": value for case in range(len(judging)) for name, value in judging.inputs(case).items()}
    np.savez(path, **cases)
    if random:
        print(f"{path}: {len(judging) - random} golden cases and {random} random ones; judge their answers with --random {random} "
              f"--seed {seed}")


def check_outputs(kernel, path, random, seed):
    """Judges arrays that were computed elsewhere: an .npz with an array a case."""
    judging = Judging(kernel)
    judging.add_random(seed, random)
    outputs = np.load(path)
    names = [judging.name(case) for case in range(len(judging))]
    for name in outputs.files:
        if (other := re.fullmatch(r"random_(\d+)_\d+", name)) and name not in names:
            raise SystemExit(f"{path}: it answers {name}, a random case of seed {other[1]}: --random and --seed as they were exported "
                             "judge it")
    given = [case for case, name in enumerate(names) if name in outputs.files]
    if not given:
        raise SystemExit(f"{path}: no array has a case's name: python -m llama_kernels show {kernel} lists them")
    for case in given:
        judging.answer(case, np.asarray(outputs[judging.name(case)], np.float32))
    missing = [name for case, name in enumerate(names) if case not in given]
    return verify.conclude(judging, given, missing, "float32", seed if random else None, path, quiet=True)


def verify_file(arguments):
    module = load(arguments.file)
    found = [name for name in CONTRACTS if callable(getattr(module, name, None))]
    if not found:
        raise SystemExit(f"{arguments.file} defines no kernel of this package: python -m llama_kernels list names them")
    for name in found:
        yield judged(lambda name=name: verify.check(name, getattr(module, name), device=arguments.device, dtype=arguments.dtype,
                                                     layout=arguments.layout, seed=arguments.seed, quiet=True))


def judged(call):
    try:
        return call()
    except verify.WrongKernel as wrong:
        return wrong.verdict


def main():
    parser = argparse.ArgumentParser(prog="llama_kernels", description="Judges your own Llama kernels and names the mistake.")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("verify", help="judge the functions of a Python file that have kernels' names")
    one.add_argument("file")
    one.add_argument("--device", default="cpu")
    one.add_argument("--dtype", default="float32", help="float32, bfloat16 or float16")
    one.add_argument("--layout", default="THD", help="of arrays [T][H][D]: THD, HTD, BTHD or BHTD")
    one.add_argument("--seed", type=int, help="of the random cases")
    commands.add_parser("list", help="name the kernels")
    commands.add_parser("show", help="a kernel's contract, cases and known mistakes").add_argument("kernel")
    two = commands.add_parser("export", help="write a kernel's inputs as .npz, to be answered elsewhere")
    two.add_argument("kernel")
    two.add_argument("file")
    three = commands.add_parser("check", help="judge outputs: an .npz with an array a case")
    three.add_argument("kernel")
    three.add_argument("--outputs", required=True, metavar="FILE")
    for command in two, three:
        command.add_argument("--random", type=int, choices=range(101), default=0, metavar="N", help="so many cases of random shapes, too")
        command.add_argument("--seed", type=int, default=1, help="of the random cases; 1 if not given")
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    arguments = parser.parse_args()
    if getattr(arguments, "kernel", None) not in (None, *CONTRACTS):
        raise SystemExit(f"{arguments.kernel} is no kernel of this package: python -m llama_kernels list names them")
    if arguments.command == "list":
        names = verify.kernels()
        return print(json.dumps(names) if arguments.json else "\n".join(names))
    if arguments.command == "show":
        return print(json.dumps({"kernel": arguments.kernel, **CONTRACTS[arguments.kernel], "mistakes": mistakes(arguments.kernel)})) \
            if arguments.json else show(arguments.kernel)
    if arguments.command == "export":
        return export(arguments.kernel, arguments.file, arguments.random, arguments.seed)
    verdicts = list(verify_file(arguments)) if arguments.command == "verify" else \
        [judged(lambda: check_outputs(arguments.kernel, arguments.outputs, arguments.random, arguments.seed))]
    print(json.dumps([v.as_dict() for v in verdicts], indent=1) if arguments.json else "\n\n".join(v.report for v in verdicts))
    return sys.exit(0 if all(v.passes for v in verdicts) else 1)


if __name__ == "__main__":
    main()
