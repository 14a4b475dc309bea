"""Every example of the manual and the README runs, page by page."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    scope: dict[str, object] = {"__name__": "example"}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 2
        exec(compile("\n" * (line - 1) + block.group(1), page, "exec"), scope)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            assert os.path.exists(page.parent / target), f"{page.name} links to {target}"
