"""Small packages, written by tests, that real processes import: what the kernel decorators and their cache do there."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import kinemorph

SOURCES = Path(kinemorph.__file__).parents[1]

# outer calls middle calls leaf, each in a module of its own; beside is nobody's business.
ZOO = {
    "zoo/__init__.py": "from zoo.outer import outer\nfrom zoo import beside\n",
    "zoo/beside.py": "from kinemorph.jit.api import kernel\n@kernel\ndef beside(x):\n    return x\n",
    "zoo/leaf.py": "from kinemorph.jit.api import kernel\n@kernel\ndef leaf(x):\n    return x + 1\n",
    "zoo/middle.py": """
from kinemorph.jit.api import kernel
from .leaf import leaf
@kernel
def middle(x):
    return 10 * leaf(x)
""",
    "zoo/outer.py": """
from kinemorph.jit.api import entry
from zoo import middle
@entry
def outer(x: float) -> float:
    return 100 * middle.middle(x)
""",
}
HOW_FAR = re.compile(r"kinemorph: compiled \d+ kernels? in \d+ s\n")  # only a slow machine says so
CALL_OUTER = "import zoo; result = zoo.outer(1.0)"
COUNTED = """
from kinemorph.jit.cache import keys
long, kernel_key = [], keys.kernel_key
keys.kernel_key = lambda kernel: long.append(1) or kernel_key(kernel)
"""  # how often a key is found the long way


@dataclass
class Outcome:
    result: object
    compiled: int
    loaded: int
    stderr: str


class Workshop:
    """A folder with packages to import, and the cache that the processes share."""

    def __init__(self, folder: Path, python: str = sys.executable, sources: Path | None = SOURCES) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.python, self.paths = python, [*map(str, [sources] if sources else []), str(folder)]

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def start(self, code: str, **variables: str) -> subprocess.Popen[str]:
        """A process that runs `code`, and prints its variable `result` and what was compiled."""
        report = "import json; from kinemorph.jit.api import compile_count as c; print(json.dumps([result, *c()]))"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("KINEMORPH_", "NUMBA_", "XDG_"))}
        given = {
            "KINEMORPH_CACHE_DIR": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",  # a .pyc is trusted if the source's time, in seconds, is the same
            "PYTHONPATH": os.pathsep.join(self.paths),
        }
        command = [self.python, "-c", f"{code}\n{report}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=inherited | given | variables, **pipes)

    def finish(self, process: subprocess.Popen[str]) -> Outcome:
        stdout, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        return Outcome(*json.loads(stdout), HOW_FAR.sub("", stderr))

    def run(self, code: str, **variables: str) -> Outcome:
        return self.finish(self.start(code, **variables))

    def kept(self, function: str = "") -> list[Path]:
        return sorted((self.cache / "kernels").glob(f"{function}*.kernel"))
