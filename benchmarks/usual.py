"""Which units of machine code the usual programs call: writes `src/kinemorph/jit/cache/usual_kernels.txt`.

    python -m benchmarks.usual

Runs the usual exercises of `kinemorph warm` and the programs of `benchmarks.start`, each in a process of its own: after
`kinemorph warm`, this takes a minute. What comes out is a guess that first calls are based on
(`kinemorph.jit.cache.usual_kernels`), to be written anew when many kernels have changed their names.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kinemorph
from benchmarks.start import OURS
from kinemorph._cores import jobs
from kinemorph.scenes.commands.exercises import EXERCISES

_FILE = Path(kinemorph.__file__).parent / "jit" / "cache" / "usual_kernels.txt"
_NAME = re.compile(r"kinemorph\.(.*)-[0-9a-f]{40}-[0-9a-f]{12}\.kernel")
_SHORT = 3  # as how many programs a short one counts: a stranger's first program is more like it than like an exercise
_SAY = "\nfrom kinemorph.jit import api; print(*(path.name for path in api.files_in_use), sep='\\n')"


def units_of(program: str) -> list[str]:
    """The units that a program calls, in the order of their first calls."""
    environment = os.environ | {"KINEMORPH_PACK": "0", "KINEMORPH_QUIET": "1", "KINEMORPH_JOBS": "1"}
    command = [sys.executable, "-c", program + _SAY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [name for name in dict.fromkeys(_NAME.findall(done.stdout)) if _is_unit(name)]


def _is_unit(name: str) -> bool:
    """Whether it is no part of others, which is compiled with them."""
    module, _, function = name.rpartition(".")
    kernel = getattr(importlib.import_module(f"kinemorph.{module}"), function, None)
    return kernel is not None and not kernel.targetoptions.get("forceinline")


def main() -> None:
    programs = [
        f"from kinemorph.scenes.commands.exercises import {name}; {name}()" for name, e in EXERCISES.items() if e.usual
    ]
    starts = [f"import kinemorph as km\n{program}" for program in OURS.values() if program]
    with ThreadPoolExecutor(jobs()) as pool:
        called = list(pool.map(units_of, starts + programs))
    counts = Counter(name for k, names in enumerate(called) for name in names * (_SHORT if k < len(starts) else 1))
    order = dict.fromkeys(name for names in called for name in names)
    _FILE.write_text("".join(f"{name} {counts[name]}\n" for name in order))
    print(f"{_FILE}: {len(order)} units of {len(called)} programs")


if __name__ == "__main__":
    main()
