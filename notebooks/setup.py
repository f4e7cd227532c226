"""pip install ./notebooks builds the judge's library with make, and the package llama_kernels around it."""
import importlib.util
import os
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
BUILD = os.environ.get("BUILD", "build")
specification = importlib.util.spec_from_file_location("package", HERE / "package.py")
package = importlib.util.module_from_spec(specification)
specification.loader.exec_module(package)


class Build(build_py):
    def run(self):
        super().run()
        jobs = f"-j{os.cpu_count()}"
        subprocess.run(["make", "-s", jobs, f"{BUILD}/libjudge.so"], cwd=HERE.parent, check=True)
        package.add_data(HERE.parent / BUILD, Path(self.build_lib, "llama_kernels"))


class ForThisMachine(Distribution):
    def has_ext_modules(self):
        return True  # the wheel holds a compiled library


setup(cmdclass={"build_py": Build}, distclass=ForThisMachine)
