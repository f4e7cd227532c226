"""What the package llama_kernels holds beside its Python code: the judge's library, the golden files, the kernels' contracts."""
import json
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_KERNELS = ("sentence.safetensors", "printing.safetensors", "stories.safetensors")


def parameter(text):
    """{"name": "x", "type": "const float", "shape": ["rows", "dim"], "written": False} of "const float x[rows][dim]"."""
    name = re.search(r"(\w+)(?=(?:\[[^]]*\])*$)", text)
    shape = [extent.replace("restrict ", "") for extent in re.findall(r"\[([^]]*)\]", text)]
    return {"name": name[1], "type": text[: name.start()].strip(), "shape": shape,
            "written": not text.startswith("const ") and bool(shape or "*" in text)}


def contracts(names):
    """{kernel: its chapter, its contract in the header, its parameters}"""
    found = {}
    for header in [ROOT / "common/linear.h", *sorted(ROOT.glob("chapters/*/*.h"))]:
        text, comment = header.read_text(), ""
        for match in re.finditer(r"^(/\*.*?\*/)|^(void|int|long|float|double) (\w+)\(([^;]*?)\);", text, re.M | re.S):
            comment = match[1] or comment
            if match[3] in names and match[3] not in found:
                parameters = [parameter(part) for part in re.split(r",\s*(?![^\[]*\])", " ".join(match[4].split()))]
                found[match[3]] = {"chapter": header.parent.name, "contract": f"{comment}\n{match[0]}", "parameters": parameters}
    return found


def add_data(build, target):
    """Copies the data into the folder `target`; `build` is make's."""
    shutil.copy(build / "libjudge.so", target)
    golden = [path for path in (ROOT / "tests/golden").glob("*.safetensors") if path.name not in NO_KERNELS]
    (target / "golden").mkdir(exist_ok=True)
    for path in [*golden, ROOT / "tests/golden/low_precision.json"]:
        shutil.copy(path, target / "golden")
    (target / "kernels.json").write_text(json.dumps(contracts({path.stem for path in golden}), indent=1))
