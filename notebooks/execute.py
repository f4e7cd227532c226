"""Runs every notebook from top to bottom, in a Python of its own.

    python notebooks/execute.py            and writes the outputs into the notebooks
    python notebooks/execute.py --check    writes nothing, and looks over what is committed
    python notebooks/execute.py 05_rope    that one alone
"""
import os
import re
import sys
import time
from pathlib import Path

try:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError
except ImportError as error:
    sys.exit(f"error: {error}: pip install -r notebooks/requirements.txt")

HERE = Path(__file__).resolve().parent
LARGEST = 60 * 1024  # bytes: an output that does not fit says too much
COLOURS = re.compile(r"\x1b\[[0-9;]*m")

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the notebooks' arrays are small: threads would wait for each other


def execute(notebook):
    """Runs it; returns what went wrong, or None."""
    try:
        NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, coalesce_streams=True,
                       extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": HERE}}).execute()
    except (CellExecutionError, CellTimeoutError) as error:
        return COLOURS.sub("", str(error))


def tidy(notebook):
    """What depends on who ran it, and when, is left out: the file changes where an output does."""
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number:02}", {}


def untidy(path):
    """What is wrong with a notebook as it is committed, or None."""
    text, cells = path.read_text(), nbformat.read(path, as_version=4).cells
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        return "was not run from top to bottom: run make notebooks"
    if len(text.encode()) > LARGEST:
        return f"has {len(text.encode())} bytes, more than {LARGEST}: let it show less"
    if str(HERE.parent) in text or '"output_type": "error"' in text or '"name": "stderr"' in text:
        return "shows an error, a warning or a path of one machine"


def main(arguments):
    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"] or sorted(path.stem for path in HERE.glob("*.ipynb"))
    failed = 0
    for name in names:
        path, start = HERE / f"{name}.ipynb", time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        wrong = execute(notebook)
        if not check and not wrong:
            tidy(notebook)
            nbformat.write(notebook, path)
        wrong = wrong or untidy(path)
        failed += bool(wrong)
        print(f"{name}: {wrong or f'{time.monotonic() - start:.0f} s'}", flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
