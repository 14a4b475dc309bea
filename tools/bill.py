"""A software bill of materials (CycloneDX 1.5) of all packages that a lock file names, with their hashes.

python tools/bill.py requirements.lock build/bill.cdx.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)(?: *; *([^\\\n]*?))? *\\?$", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill(lock: str) -> dict[str, Any]:
    """The bill of a lock file's text: each package once, in its order."""
    found = list(PACKAGE.finditer(lock))
    ends = [*(match.start() for match in found[1:]), len(lock)]
    components = []
    for match, end in zip(found, ends, strict=True):
        name, version, marker = match[1], match[2], match[3]
        hashes = [{"alg": "SHA-256", "content": value} for value in HASH.findall(lock[match.end() : end])]
        if not hashes:
            raise ValueError(f"{name} {version} has no hash in the lock file; make lock writes them")
        url = f"pkg:pypi/{name}@{version}"
        part = {"type": "library", "name": name, "version": version, "purl": url, "bom-ref": url, "hashes": hashes}
        components.append(part | ({"properties": [{"name": "marker", "value": marker}]} if marker else {}))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def main(lock: Path, file: Path) -> None:
    made = bill(lock.read_text("utf-8"))
    file.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    print(f"{len(made['components'])} packages of {lock} in {file}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
