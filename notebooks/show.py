"""What the notebooks show: tables, curves by gnuplot, the course's figures, programs that are run; and how far apart two
answers are."""
import re
import subprocess
import warnings

import numpy as np
from IPython.display import SVG
from llama_c import BUILD, ROOT

warnings.filterwarnings("ignore", message="IProgress not found")  # transformers can do without its progress bars


def ulps(got, right):
    """The largest error, in units in the last place of a float32 as large as the largest number of its row; in a vector, as
    large as the number itself. As common/check.h counts."""
    got, right = (np.asarray(array, np.float64) for array in (got, right))
    got, right = (array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1) for array in (got, right))
    scale = np.abs(right).max(axis=1, keepdims=True)
    unit = np.spacing(np.maximum(scale, 2**-126).astype(np.float32)).astype(np.float64)
    return float((np.abs(got - right) / unit).max())


def table(header, rows):
    """Prints rows under a header; numbers to the right."""
    cells = [[cell if isinstance(cell, str) else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
             for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    number = r"-?(inf|nan|[\d.]+(e[-+]\d+)?)( of \d+|/\d+)?"
    left = [not all(re.fullmatch(number, row[i]) for row in cells[1:]) for i in range(len(header))]
    for row in cells:
        print("  " + "   ".join(f"{cell:{'<' if left[i] else '>'}{widths[i]}}" for i, cell in enumerate(row)).rstrip())


def drawing(svg):
    """An SVG to be shown, without gnuplot's empty groups: a notebook keeps what it shows."""
    return SVG(" ".join(re.sub(r"<g [^>]*>\s*</g>", "", svg).split()))


def plot(title, curves, settings="", style="lines"):
    """Curves {name: (x, y)} in the style of the course's figures; settings are gnuplot's: 'set logscale x; set xlabel …'."""
    quoted = lambda text: "'" + text.replace("'", "''") + "'"
    script = ["output = '/dev/stdout'; height = 400", f"load '{ROOT}/figures/style.gp'", "set format '%g'; set rmargin 4",
              f"set title {quoted(title)}", settings]
    for i, (x, y) in enumerate(curves.values()):
        script += [f"$curve{i} << END", *(f"{float(a):.5g} {float(b):.5g}" for a, b in zip(x, y)), "END"]
    script += ["plot " + ", ".join(f"$curve{i} with {style} title {quoted(name)}" for i, name in enumerate(curves))]
    try:
        done = subprocess.run(["gnuplot"], input="\n".join(script), capture_output=True, text=True)
    except FileNotFoundError:
        print("no plot, for there is no gnuplot: apt install gnuplot-nox | dnf install gnuplot | brew install gnuplot")
        return None
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return drawing(done.stdout)


def figure(name):
    """One of the course's figures, which the chapters' programs computed."""
    return drawing((ROOT / "figures" / f"{name}.svg").read_text())


def run(program, *arguments):
    """Runs a program of the course from the top of the repository, and returns what it prints."""
    if not (BUILD / program).exists():
        raise FileNotFoundError(f"{BUILD.name}/{program} is missing: run make")
    done = subprocess.run([BUILD / program, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr
