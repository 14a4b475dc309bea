"""The Content-Security-Policy of generated pages: the browser runs their own scripts alone, and allows no requests.

Each script of a page has a nonce, and the browser runs no others: no handlers in attributes, no `javascript:`, none in
frames. Names are escaped wherever they come onto a page (`_escaping`); this holds if one is forgotten.
"""

from __future__ import annotations

import re

# viser's loader unpacks the client and runs it as one more script: the only one that a page makes by itself. The client
# would then write the address of its web socket into that of the page. (It glues calls of WebAssembly together by
# `Function`, which is why the policy has 'unsafe-eval'.)
LOADED = """
(() => {
  history.replaceState = () => {};
  const make = document.createElement;
  document.createElement = function (name, options) {
    const made = make.call(document, name, options);
    if (name === "script") {
      made.nonce = "NONCE";
      document.createElement = make;
    }
    return made;
  };
})();
"""


def policy_of(nonce: str, sockets: str = "") -> str:
    """A content-security policy: scripts with a nonce, and connections to `sockets` alone; no frame around it."""
    return f"{_policy(nonce, sockets)}; frame-ancestors 'none'"


def embed_policy(page: str, nonce: str) -> str:
    """A page as a file, which has its policy in itself, and makes no requests."""
    seal = f'<meta http-equiv="Content-Security-Policy" content="{_policy(nonce, "")}">'
    return with_nonce(page, nonce).replace("<head>", f"<head>{seal}", 1)


def with_nonce(page: str, nonce: str) -> str:
    """A page of viser whose scripts have a nonce, that one too which its loader makes."""
    named = re.sub(r"<script(?=[\s>])", f'<script nonce="{nonce}"', page)
    loaded = f'<script nonce="{nonce}">{LOADED.replace("NONCE", nonce)}</script>'
    return named.replace("<head>", f"<head>{loaded}", 1)


def _policy(nonce: str, sockets: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'nonce-{nonce}' 'unsafe-eval' 'wasm-unsafe-eval' blob:",
            "worker-src blob: data:",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "font-src data:",
            f"connect-src data: blob: {sockets}".rstrip(),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
