"""A viser server that only this machine's user can reach, and whose pages reach no other host.

viser listens on all addresses, takes web sockets from pages of any origin, and opens a public tunnel when a client asks
for one. Here it listens on loopback. Other users of the machine can connect to that address too, so each server has a
random token, which is part of the address of its page: a request without it is refused. A request must also name this
server as its host, and a web socket must come from one of its pages. There is no handler for tunnels, no page may be
put into a frame, and the browser runs no script in a page but those that were served with it.

The token is not kept in a cookie: browsers send those of 127.0.0.1 to all its ports, also to those of other users.
The address that is printed ends in `?token=...`, as those of notebooks do, and leads to a page whose path is the token.
viser's client looks for its web socket at the path of its page, and so sends the token.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from kinemorph._escaping import in_html
from kinemorph._extras import require_module
from kinemorph.view.replays.content_policy import policy_of, with_nonce

HOST = "127.0.0.1"
_ONE_AT_A_TIME = threading.Lock()  # starting takes viser's call of `serve` apart

TITLE = b"<title>Viser</title>"
REFUSED = "This viewer is for the user who started it: open the address that was printed, with its token.\n"
HEADERS = {
    "X-Frame-Options": "DENY",  # what older browsers know of frame-ancestors
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def check_port(port: int) -> None:
    if not 0 <= port <= 65535:
        raise ValueError(f"port {port} must be from 0 to 65535; 0 is any that is free")


def start_server(what: str, port: int = 0) -> tuple[Any, str]:
    """A server for `what`, in the plural, and the address of its page. The caller stops the server.

    It listens at a port, or at any that is free.
    """
    check_port(port)
    viser = require_module("viser", "view", what)
    from viser import _messages
    from websockets.asyncio import server as sockets

    token = secrets.token_urlsafe(24)
    with _ONE_AT_A_TIME, _silent_banner():
        plain = sockets.serve
        sockets.serve = _guarded_serve(plain, token)  # type: ignore[misc]  # viser calls it by this name
        try:
            server = viser.ViserServer(host=HOST, port=port, verbose=False)
        finally:
            sockets.serve = plain  # type: ignore[misc]
    handlers = server._websock_server
    handlers.unregister_handler(_messages.ShareUrlRequest)
    handlers.unregister_handler(_messages.ShareUrlDisconnect)
    return server, f"http://{HOST}:{server.get_port()}/?token={token}"


@contextmanager
def running_server(what: str) -> Iterator[Any]:
    """A server while this is entered. Its address is not printed."""
    server, _ = start_server(what)
    try:
        yield server
    finally:
        stop_server(server)


def stop_server(server: Any) -> None:
    """Stop a server, without a word."""
    with _ONE_AT_A_TIME, _silent_banner():
        server.stop()


@contextmanager
def browser_page(url: str) -> Iterator[None]:
    """Have the user's browser open an address that is secret from other users, while this is entered.

    Everybody can read the arguments of a program, so the browser gets the name of a file that only its owner can read,
    and which leads on to the address.
    """
    with tempfile.TemporaryDirectory(prefix="kinemorph-") as folder:  # for its owner alone
        page = Path(folder) / "viewer.html"
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={in_html(url)}">')
        webbrowser.open(page.as_uri())
        yield


@contextmanager
def _silent_banner() -> Iterator[None]:
    """While this is entered rich says nothing: viser's banner offers to share."""
    import rich

    console = rich.get_console()
    quiet, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = quiet


def _guarded_serve(serve: Any, token: str) -> Any:
    """`websockets.asyncio.server.serve`, with a look at where each request comes from, and what it knows."""

    def guarded(handler: Any, host: str, port: int, *, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            asked = request.headers.get_all("Host")
            allowed = [f"{name}:{connection.local_address[1]}" for name in (HOST, "localhost")]
            if len(asked) != 1 or asked[0] not in allowed or not _is_own(request.headers, allowed):
                return _sealed(connection.respond(HTTPStatus.FORBIDDEN, REFUSED))
            path, _, query = request.path.partition("?")
            first, _, rest = path.removeprefix("/").partition("/")
            if not first and not rest and _is_token(parse_qs(query).get("token", [""])[-1], token):
                response = connection.respond(HTTPStatus.SEE_OTHER, "")
                response.headers["Location"] = f"/{token}/"
                return _sealed(response)
            if not _is_token(first, token):
                return _sealed(connection.respond(HTTPStatus.FORBIDDEN, REFUSED))
            request.path = f"/{rest}"
            if "Accept-Encoding" in request.headers:  # nothing is gained by packing what stays on this machine
                del request.headers["Accept-Encoding"]
            response = process_request(connection, request)
            return None if response is None else _sealed(response, f"ws://{asked[0]}")

        return serve(handler, host, port, process_request=process, **options)

    return guarded


def _is_own(headers: Any, allowed: list[str]) -> bool:
    """Whether a request for a web socket comes from a page of this server; others may come from anywhere."""
    if not any("websocket" in value.lower() for value in headers.get_all("Upgrade")):
        return True
    origins = headers.get_all("Origin")
    return len(origins) == 1 and origins[0] in [f"http://{name}" for name in allowed]


def _is_token(given: str, token: str) -> bool:
    """Whether a word is the token, in a time that tells nothing about it."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def _sealed(response: Any, sockets: str = "") -> Any:
    """A response that no frame shows and no cache keeps; a page in it gets its title, and a nonce for its scripts."""
    nonce = secrets.token_urlsafe(16)
    if TITLE in response.body:
        named = response.body.replace(TITLE, b"<title>kinemorph</title>").decode()
        response.body = with_nonce(named, nonce).encode()
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
    response.headers["Content-Security-Policy"] = policy_of(nonce, sockets)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
