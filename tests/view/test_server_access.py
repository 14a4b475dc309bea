"""Who can reach a viewer: its user, from its own pages. Other users, pages, frames and names of hosts cannot."""

from __future__ import annotations

import asyncio
import os
import random
import re
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.browser import visit

import kinemorph as km
from kinemorph.view.live import viewer as of_viewer
from kinemorph.view.live.server import running_server
from kinemorph.view.live.viewer import Viewer

ANOTHER = 12345  # id of a user who is not ours


def one_box() -> km.World:
    world = km.World()
    world.add_ground()
    world.add(km.Shape.box((0.5, 0.5, 0.5)), at=(0, 0, 0.25), name="box")
    return world


def secret(v: Viewer) -> str:
    return v.url.rpartition("?token=")[2]


async def _ask(port: int, path: str, headers: dict[str, str], extra: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = {"Host": f"127.0.0.1:{port}", **headers}
    told = "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v)
    writer.write(f"GET {path} HTTP/1.1\r\n{told}{extra}\r\n".encode("utf-8", "surrogateescape"))
    answer = (await asyncio.wait_for(reader.read(3000), 20.0)).decode(errors="replace")
    writer.close()
    return answer


def ask(v: Viewer, path: str, extra: str = "", **headers: str) -> str:
    """What a server answers to a request for a page."""
    return asyncio.run(_ask(v.server.get_port(), path, {"Connection": "close", **headers}, extra))


def knock(v: Viewer, path: str, extra: str = "", **headers: str) -> str:
    """What a server answers to somebody who wants a web socket."""
    wanted = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "viser-v1", **headers,
    }  # fmt: skip
    return asyncio.run(_ask(v.server.get_port(), path, wanted, extra))


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


def test_only_its_own_pages_may_talk_to_it() -> None:
    from viser import _messages

    with km.viewer(one_box(), open_browser=False) as v:
        port, own = v.server.get_port(), f"/{secret(v)}"
        for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            assert status(knock(v, own, Origin=origin)) == 101
        others = (
            "",
            "null",
            "http://evil.example",
            f"http://evil.example:{port}",
            f"https://127.0.0.1:{port}",
            "file://",
        )
        for origin in others:
            assert status(knock(v, own, Origin=origin)) == 403, origin
        home = f"http://127.0.0.1:{port}"
        assert status(knock(v, own, Origin=home, Host=f"evil.example:{port}")) == 403  # a name that points here
        assert status(knock(v, own, extra="Origin: http://evil.example\r\n", Origin=home)) == 403
        assert status(knock(v, own, Upgrade="WebSocket, h2c", Origin="http://evil.example")) == 403
        assert status(ask(v, f"{own}/")) == 200
        assert status(ask(v, f"{own}/", Host="evil.example")) == 403
        for path in ("/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/assets/../../__init__.py"):
            assert status(ask(v, own + path)) == 404, path
            assert status(ask(v, path)) == 403, path
        handlers = v.server._websock_server._incoming_handlers
        assert {_messages.ShareUrlRequest, _messages.ShareUrlDisconnect}.isdisjoint(handlers)


def test_nobody_comes_in_without_the_token() -> None:
    """Any other user of this machine can connect to 127.0.0.1: they saw the world, and could close it."""
    dice = random.Random(7)
    with km.viewer(one_box(), open_browser=False) as v, km.viewer(one_box(), open_browser=False) as other:
        token, home = secret(v), v.url.rpartition("/")[0]
        assert len(token) >= 22
        assert token != secret(other)
        wrong = [
            "",
            "x",
            token[:-1],
            token + "x",
            token.swapcase(),
            "é",
            "%00",
            secret(other),
            "../" + token,
            "." * 5000,
        ]
        for _ in range(20):
            k = dice.randrange(len(token))
            wrong.append(token[:k] + dice.choice([c for c in "abcXYZ_-09" if c != token[k]]) + token[k + 1 :])
        for word in wrong:
            for path in (f"/?token={word}", f"/{word}/", f"/{word}/index.html", f"/index.html?token={token}"):
                answer = ask(v, path)
                assert status(answer) in (403, 400), path
                assert token not in answer
            assert status(knock(v, f"/{word}", Origin=home)) in (403, 400), word
        assert status(knock(v, "/", Origin=home, Cookie=f"token={token}")) == 403
        answer = ask(v, f"/?token={token}")
        assert status(answer) == 303
        assert f"Location: /{token}/\r\n" in answer


@pytest.mark.parametrize("path", ["/", "/?token=TOKEN", "/TOKEN/", "/TOKEN/none"])
def test_every_answer_is_kept_out_of_frames_and_caches(path: str) -> None:
    with km.viewer(one_box(), open_browser=False) as v:
        head = ask(v, path.replace("TOKEN", secret(v))).partition("\r\n\r\n")[0]
    policy = re.search(r"Content-Security-Policy: (.*)", head)
    assert policy
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy[1].split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "'unsafe-inline'" not in rules["script-src"]
    for header in (
        "X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin",
    ):  # fmt: skip
        assert head.count(header) == 1, header


def test_servers_that_only_make_a_page_are_closed_to_all() -> None:
    with running_server("tests") as server:
        answer = asyncio.run(_ask(server.get_port(), "/", {"Connection": "close"}, ""))
    assert status(answer) == 403


INTRUDER = """
import encodings.idna, os, socket, sys
port, user = map(int, sys.argv[1:])
os.setgroups([])
os.setgid(user)
os.setuid(user)
def answer(text):
    s = socket.create_connection(("127.0.0.1", port), 20)
    s.sendall(text.encode())
    return s.recv(200).decode()
host = f"Host: 127.0.0.1:{port}\\r\\n"
upgrade = ("Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\nSec-WebSocket-Protocol: viser-v1\\r\\n")
print(answer(f"GET / HTTP/1.1\\r\\n{host}Connection: close\\r\\n\\r\\n").split()[1])
print(answer(f"GET / HTTP/1.1\\r\\n{host}Origin: http://127.0.0.1:{port}\\r\\n{upgrade}\\r\\n").split()[1])
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_this_machine_sees_nothing() -> None:
    with km.viewer(one_box(), open_browser=False) as v:
        command = [sys.executable, "-c", INTRUDER, str(v.server.get_port()), str(ANOTHER)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["403", "403"]


def test_the_address_is_no_argument_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody can read those of all programs: the browser is given a file that only its owner can read."""
    told: list[str] = []
    monkeypatch.setattr(webbrowser, "open", told.append)
    monkeypatch.setattr(of_viewer, "has_screen", lambda: True)
    with km.viewer(one_box()) as v:
        (address,) = told
        assert secret(v) not in address
        page = Path(unquote(urlsplit(address).path))
        assert v.url in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert not page.parent.exists()


# -------------------------------------------------------------------------------------------------------- in a browser


@contextmanager
def a_page_of_somebody_else(text: str) -> Iterator[str]:
    """The address of a page at another port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


ATTACK = """<!doctype html><title>attack</title>
<iframe id="a" src="URL"></iframe><iframe id="b" src="PAGE"></iframe>
<script>
window.heard = [];
const socket = new WebSocket("SOCKET", ["viser-v1"]);
socket.onopen = () => window.heard.push("opened");
socket.onerror = () => window.heard.push("refused");
fetch("PAGE").then(a => a.text()).then(t => window.heard.push("read"), () => window.heard.push("not read"));
</script>"""


def test_in_a_browser_the_address_works_and_nothing_else_does(tmp_path: Path) -> None:
    """The page with the token lives. Without it, framed, or by a socket from elsewhere, there is nothing to see."""
    with km.viewer(one_box(), open_browser=False) as v, visit(v.url, tmp_path / "profile") as opened:
        page, home, token = opened.page, v.url.rpartition("/")[0], secret(v)

        def lives(count: int) -> None:
            end = time.monotonic() + 120.0
            while time.monotonic() < end and len(v.server.get_clients()) != count:
                v.advance()
                v.sync(until=time.monotonic() + 0.05)
            assert len(v.server.get_clients()) == count

        page.locator("canvas").first.wait_for(timeout=120_000)
        lives(1)
        page.get_by_text("1 body in 1 tree").wait_for(timeout=120_000)
        assert page.url == f"{home}/{token}/"
        page.reload()
        page.locator("canvas").first.wait_for(timeout=120_000)
        lives(1)
        assert opened.errors == []
        assert page.context.cookies() == []  # they would go to all ports of this machine

        for address in (f"{home}/", f"{home}/?token=", f"{home}/{token[:-1]}/"):
            answer = page.goto(address)
            assert answer is not None
            assert answer.status == 403
            assert page.locator("canvas").count() == 0
        lives(0)

        attack = ATTACK.replace("URL", v.url).replace("PAGE", f"{home}/{token}/")
        with a_page_of_somebody_else(attack.replace("SOCKET", f"{home.replace('http', 'ws')}/{token}")) as bad:
            page.goto(bad)
            page.wait_for_function("() => window.heard.length == 2", timeout=120_000)
            page.wait_for_timeout(1000)
            assert sorted(page.evaluate("() => window.heard")) == ["not read", "refused"]
            assert all(frame.query_selector("canvas") is None for frame in page.frames)
            assert len(v.server.get_clients()) == 0
