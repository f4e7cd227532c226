"""Runs every notebook from top to bottom.

    python notebooks/execute.py            and writes the outputs into the notebooks
    python notebooks/execute.py --check    and only says which of them fail
    python notebooks/execute.py 04_rope    those alone
"""
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def tidy(notebook):
    """What depends on who ran it, and when, is left out: the file changes where an output does."""
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number:02}", {}


def main(arguments):
    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"] or sorted(path.stem for path in HERE.glob("*.ipynb"))
    failed = 0
    for name in names:
        path, start = HERE / f"{name}.ipynb", time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        try:
            NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, coalesce_streams=True,
                           extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": HERE}}).execute()
        except CellExecutionError as error:
            failed += 1
            print(f"{name}: {ANSI.sub('', str(error))}")
            continue
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        if not check:
            tidy(notebook)
            nbformat.write(notebook, path)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
