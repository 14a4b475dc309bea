"""A viser server that only this machine's user can reach, and whose pages reach nobody else.

viser listens on all addresses, takes web sockets from pages of any origin, and opens a public tunnel when a client asks
for one. Here it listens on loopback; a request must name this server as its host, and a web socket must come from one
of its pages; there is no handler for tunnels; and pages may ask nobody but the server for anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from kinemorph._extras import need

HOST = "127.0.0.1"
_ONE_AT_A_TIME = threading.Lock()  # starting takes viser's call of `serve` apart

# Of pages that a server gives out; those of files (`page.POLICY`) may not even ask a server.
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' data: blob:"
TITLE = b"<title>Viser</title>"


def check_port(port: int) -> None:
    if not 0 <= port <= 65535:
        raise ValueError(f"port {port} must be from 0 to 65535; 0 is any that is free")


def start_server(what: str, port: int = 0) -> Any:
    """A server for `what`, in the plural, on a port, or any that is free. Whoever starts it stops it."""
    check_port(port)
    viser = need("viser", "view", what)
    from viser import _messages
    from websockets.asyncio import server as sockets

    with _ONE_AT_A_TIME, _silence():
        plain = sockets.serve
        sockets.serve = _guarded(plain)  # type: ignore[misc]  # viser calls it by this name
        try:
            server = viser.ViserServer(host=HOST, port=port, verbose=False)
        finally:
            sockets.serve = plain  # type: ignore[misc]
    handlers = server._websock_server
    handlers.unregister_handler(_messages.ShareUrlRequest)
    handlers.unregister_handler(_messages.ShareUrlDisconnect)
    return server


@contextmanager
def serving(what: str) -> Iterator[Any]:
    """A server while this is entered."""
    server = start_server(what)
    try:
        yield server
    finally:
        stop_server(server)


def stop_server(server: Any) -> None:
    """Stop a server, without a word."""
    with _ONE_AT_A_TIME, _silence():
        server.stop()


@contextmanager
def _silence() -> Iterator[None]:
    """While this is entered rich says nothing: viser's banner offers to share."""
    import rich

    console = rich.get_console()
    quiet, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = quiet


def _guarded(serve: Any) -> Any:
    """`websockets.asyncio.server.serve`, with a look at where each request comes from."""

    def guarded(handler: Any, host: str, port: int, *, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            names = [f"{name}:{connection.local_address[1]}" for name in (HOST, "localhost")]
            asked, origin = request.headers.get("Host"), request.headers.get("Origin")
            socket = request.headers.get("Upgrade", "").lower() == "websocket"
            if asked not in names or (socket and origin not in [f"http://{name}" for name in names]):
                return connection.respond(HTTPStatus.FORBIDDEN, "This viewer is for its own pages only.\n")
            if "Accept-Encoding" in request.headers:  # nothing is gained by packing what stays on this machine
                del request.headers["Accept-Encoding"]
            response = process_request(connection, request)
            if response is not None:
                response.headers["Content-Security-Policy"] = POLICY
                if TITLE in response.body:
                    response.body = response.body.replace(TITLE, b"<title>kinemorph</title>")
                    del response.headers["Content-Length"]
                    response.headers["Content-Length"] = str(len(response.body))
            return response

        return serve(handler, host, port, process_request=process, **options)

    return guarded
