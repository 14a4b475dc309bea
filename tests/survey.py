"""All MJCF files of some folders, read by MuJoCo and in both of our ways: what is equal, and what is refused why.

    python -m tests.survey FOLDER [FOLDER ...]

A folder is one package, unpacked. Files that only others include are not counted. What must be ignored to read a file
is switched off in MuJoCo as well. Files that are not equal to 1e-9 are named.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from tests.mujoco_twin import assert_equal, without_what_is_ignored

import kinemorph as km
from kinemorph.io.mjcf.mujoco_parts import KINDS

TRIES = 20  # kinds that one file may need to have ignored


def files(folder: Path) -> list[Path]:
    """Those whose outermost element is <mujoco>."""
    found = []
    for path in sorted(folder.rglob("*.xml")):
        text = re.sub(r"<!--.*?-->", "", path.read_text(errors="replace"), flags=re.DOTALL)
        if re.match(r"\s*(<\?xml[^>]*>)?\s*<mujoco[\s>]", text):
            found.append(path)
    return found


def read(load: Any) -> tuple[km.Model | None, list[str], str]:
    """A model, what had to be ignored for it, and why there is none."""
    ignored: list[str] = []
    for _ in range(TRIES):
        try:
            return load(ignore=ignored), ignored, ""
        except (km.FileError, ValueError) as error:
            kind = re.search(r"ignore=\(\"(\w+)\",\)", str(error))
            if kind is None or kind[1] in ignored or kind[1] not in KINDS:
                return None, ignored, str(error)
            ignored.append(kind[1])
    return None, ignored, "too much must be ignored"


def equal(model: km.Model | None, peer: Any) -> str:
    """Empty if all is equal, else what is not."""
    if model is None:
        return "not read"
    try:
        assert_equal(model, peer, np.random.default_rng(0), states=1)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return ""


def survey(folder: Path) -> None:
    """Print what becomes of the files of a folder."""
    count, kinds = Counter[str](), Counter[str]()
    for path in files(folder):
        count["files"] += 1
        try:
            peer = mujoco.MjModel.from_xml_path(str(path))
        except Exception:
            peer = None
        own, ignored, why = read(partial(km.load_mjcf, path, root=folder))
        if peer is None:
            count["refused by both" if own is None else "refused by MuJoCo"] += 1
            continue
        kinds.update(ignored)
        without_what_is_ignored(peer)
        theirs, _, reason = read(partial(km.from_mujoco, peer))
        count["read" if own is not None else "refused"] += 1
        for name, model, cause in (("load_mjcf", own, why), ("from_mujoco", theirs, reason)):
            fault = equal(model, peer)
            count[f"{name} equal"] += not fault
            if fault:
                print(f"  {path.relative_to(folder)}: {name}: {fault} {cause}"[:300])
    print(f"{folder.name}: {dict(count)}; ignored: {dict(kinds)}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", km.ModelWarning)
    for folder in sys.argv[1:]:
        survey(Path(folder))


if __name__ == "__main__":
    main()
