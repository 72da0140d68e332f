"""A client of the tests' own for network block devices: the handshake, and one request at a time."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self

READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6


class NbdError(Exception):
    """A request that the server refused; `args[0]` is its error number."""


class Client:
    """A connection in its transmission phase, with simple replies.

    Attributes:
        size: bytes of the device.
    """

    def __init__(self, address: str) -> None:
        """Connects to `unix:PATH` or `tcp:127.0.0.1:PORT`."""
        kind, _, where = address.partition(":")
        if kind == "unix":
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(where)
        else:
            self._socket = socket.create_connection(("127.0.0.1", int(where.rpartition(":")[2])))
        assert self._take(18) == b"NBDMAGICIHAVEOPT\0\3"
        self._socket.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        (self.size,) = struct.unpack(">Q2x", self._take(10))
        self._cookie = 0

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> bytes:
        """A request and its reply.

        Raises:
            NbdError: the server refused it.
        """
        self._cookie += 1
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, self._cookie, offset, length) + data)
        magic, error, cookie = struct.unpack(">IIQ", self._take(16))
        assert (magic, cookie) == (0x67446698, self._cookie)
        if error:
            raise NbdError(error)
        return self._take(length) if command == READ else b""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a place."""
        return self.ask(READ, offset, length)

    def write(self, offset: int, data: bytes, *, fua: bool = False) -> None:
        """Stores bytes."""
        self.ask(WRITE, offset, len(data), data, flags=int(fua))

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            part = self._socket.recv(count - len(taken))
            if not part:
                raise ConnectionError("the server has closed the connection")
            taken += part
        return taken

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
