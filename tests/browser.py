"""Debian's chromium, driven by Playwright, for tests that look at pages. No graphics card is needed: slow, but sure."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tests.needs import lacking

if TYPE_CHECKING:
    from playwright.sync_api import Page

FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass
class Visit:
    """An open page, and what it has asked for and complained about so far."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def chromium() -> str:
    """Where chromium is; it may be lacking."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    lacking("there is no chromium here; on Debian: apt-get install chromium")


def still(page: Page, seconds: float = 30.0) -> npt.NDArray[np.float64]:
    """The page once it has stopped changing, (height, width, 3) from 0 to 1."""
    from matplotlib.image import imread

    before = b""
    end = time.monotonic() + seconds
    while True:
        now = page.screenshot(timeout=120_000)
        if now == before or time.monotonic() > end:
            return np.asarray(imread(io.BytesIO(now)), dtype=np.float64)[:, :, :3]
        before = now
        page.wait_for_timeout(700)


@contextmanager
def visit(file: Path | str, profile: Path, size: tuple[int, int] = (960, 640)) -> Iterator[Visit]:
    """Open a file as a user does who double-clicks it, or an address; `profile` is an empty folder for the browser."""
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=program,
            headless=True,
            args=FLAGS,
            viewport={"width": size[0], "height": size[1]},
        )
        try:
            visited = Visit(browser.pages[0] if browser.pages else browser.new_page())
            browser.on("request", lambda request: visited.requests.append(request.url))
            visited.page.on("pageerror", lambda error: visited.errors.append(str(error)))
            visited.page.on("console", lambda m: visited.errors.append(m.text) if m.type == "error" else None)
            visited.page.goto(file if isinstance(file, str) else file.resolve().as_uri(), timeout=120_000)
            yield visited
        finally:
            browser.close()
