"""The workbench over HTTP: on this machine alone, and nothing but reading."""

from __future__ import annotations

import ipaddress
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pumice.errors import SpecError, one_line, reason
from pumice.report.page import page_text
from pumice.report.parts import Line
from pumice.text import printable
from pumice.workbench.pages import Workbench

#: What a page may load: what stands in it.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)

#: Names of this machine in the header `Host`. Another one is a page of somebody else's that had its name point here.
_OWN_NAMES = ("127.0.0.1", "localhost", "::1")


class WorkbenchServer(ThreadingHTTPServer):
    """Serves the pages of a workbench until `shutdown` is called."""

    daemon_threads = True

    def __init__(self, address: str, workbench: Workbench) -> None:
        """Listens.

        Args:
            address: `tcp:HOST:PORT` of this machine's loopback; port 0 is a free one.
            workbench: the pages.

        Raises:
            SpecError: another address, or one that cannot be listened on.
        """
        self.workbench = workbench
        #: Figures are drawn one after the other: the style of Matplotlib is one for all threads.
        self.drawing = threading.Lock()
        host, port = loopback(address)
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SpecError(f"--listen {printable(address)}: {reason(error)}") from None

    @property
    def url(self) -> str:
        """Where a browser finds the pages."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}/"


def loopback(address: str) -> tuple[str, int]:
    """Host and port of an address of this machine's loopback.

    Raises:
        SpecError: it is written otherwise, or other machines could reach it.
    """
    kind, _, rest = address.partition(":")
    host, colon, port = rest.rpartition(":")
    if kind != "tcp" or not colon or not port.isdecimal() or int(port) > 65_535:
        raise SpecError(f"--listen {printable(address)}: expected tcp:127.0.0.1:PORT (0: a free one)")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        is_own = isinstance(found := ipaddress.ip_address(host), ipaddress.IPv4Address) and found.is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        raise SpecError(
            f"--listen {printable(address)}: other machines could reach it; allowed: 127.0.0.1, this machine alone"
        )
    return host, int(port)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: WorkbenchServer
    server_version, sys_version = "pumice", ""

    def do_GET(self) -> None:
        """A page, or one that says what is wrong."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        if host not in _OWN_NAMES:
            self._say(HTTPStatus.FORBIDDEN, "this page is served to this machine under its own name alone")
            return
        asked = urlsplit(self.path)
        try:
            with self.server.drawing:
                page = self.server.workbench.page(asked.path, parse_qs(asked.query, max_num_fields=1000))
        except (SpecError, ValueError, OSError) as error:
            self._say(HTTPStatus.BAD_REQUEST, one_line(error))
            return
        if page is None:
            self._say(HTTPStatus.NOT_FOUND, f"{printable(asked.path)}: there is no such page")
        else:
            self._send(HTTPStatus.OK, page)

    do_HEAD = do_GET

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, page_text(status.phrase, [], [Line(text, "warning")], home=True))

    def _send(self, status: HTTPStatus, page: str) -> None:
        content = page.encode()
        self.send_response(status)
        headers = {
            "Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(content)),
            "Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing: the terminal is the user's."""
