"""How exact is torch.nn.functional.linear in float32? For each width the root of the mean squared error against float64, beside
that of the values: the table in tests/kernels/test_speed.c, whose numbers are made by the same rule. No golden file: the test draws
the inputs again."""
import numpy as np
import torch

ROWS, OUT = 16, 96


def numbers(count, seed):
    """common/random.c: SplitMix64, uniform from -0.5 to 0.5."""
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return torch.tensor(((z >> np.uint64(11)).astype(np.float64) * 2**-53).astype(np.float32) - np.float32(0.5))


for width in 256, 512, 1024, 2048, 4096:
    x, weight = numbers(ROWS * width, 1).reshape(ROWS, width), numbers(OUT * width, 2).reshape(OUT, width)
    right = torch.nn.functional.linear(x.double(), weight.double())
    got = torch.nn.functional.linear(x, weight)
    error = ((got - right).square().mean() / right.square().mean()).sqrt().item()
    print(f"{{{width}, {error:.2e}}},")
