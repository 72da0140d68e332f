"""A ledger on a raw device, as a database keeps one: a write-ahead log, accounts in place, a flush for each transfer.

    ledger.py write [N]     moves money N times on the device of $PUMICE_URI, and marks each transfer once it is stored
    ledger.py check         recovers the ledger in $PUMICE_IMAGE: status 1 if money or a marked transfer is gone

Run by `pumice crash`; see docs/CRASH.md.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

BLOCK = 4096
ACCOUNTS = 64
OPENING_BALANCE = 1000

#: Transfers in the log. Those before are stored in the accounts, because each transfer flushes the device.
LOG = 32

#: Commands of the network block device protocol.
READ, WRITE, FLUSH = 0, 1, 3


class Device:
    """The block device at an address such as `nbd+unix:///?socket=PATH`."""

    def __init__(self, uri: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(uri.partition("socket=")[2])
        greeting = self._receive(18)
        if greeting[:16] != b"NBDMAGICIHAVEOPT":
            raise OSError(f"{uri}: no network block device")
        # Fixed newstyle without padding; the export with the empty name.
        self._socket.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        self._receive(10)

    def ask(self, command: int, block: int = 0, data: bytes = b"") -> None:
        """Writes a block, or flushes."""
        head = struct.pack(">IHHQQI", 0x25609513, 0, command, 0, block * BLOCK, len(data))
        self._socket.sendall(head + data)
        _, error, _ = struct.unpack(">IIQ", self._receive(16))
        if error:
            raise OSError(error, f"command {command} of block {block}")

    def _receive(self, count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise OSError("the device has closed the connection")
            parts += part
        return parts


def marker(address: str) -> Callable[[int], None]:
    """A function that tells the recording which transfer is stored."""
    control = socket.socket(socket.AF_UNIX)
    control.connect(address.removeprefix("unix:"))
    lines = control.makefile("rw")

    def mark(transfer: int) -> None:
        lines.write(json.dumps({"do": "mark", "text": str(transfer)}) + "\n")
        lines.flush()
        if not json.loads(lines.readline())["ok"]:
            raise OSError("the device takes no marks")

    return mark


def packed(content: Mapping[str, int]) -> bytes:
    """A block with its checksum."""
    text = json.dumps(content).encode().ljust(BLOCK - 4)
    return text + struct.pack(">I", zlib.crc32(text))


def unpacked(block: bytes) -> dict[str, int] | None:
    """What a block holds; None if its checksum is wrong."""
    if len(block) < BLOCK or struct.unpack(">I", block[-4:])[0] != zlib.crc32(block[:-4]):
        return None
    content: dict[str, int] = json.loads(block[:-4])
    return content


def write(transfers: int) -> None:
    """Opens the accounts and moves money."""
    device, mark, draw = Device(os.environ["PUMICE_URI"]), marker(os.environ["PUMICE_CONTROL"]), random.Random(1)
    balances = [OPENING_BALANCE] * ACCOUNTS
    for account, balance in enumerate(balances):
        device.ask(WRITE, account, packed({"balance": balance, "transfer": 0}))
    device.ask(FLUSH)
    mark(0)
    for transfer in range(1, transfers + 1):
        giver, taker = draw.sample(range(ACCOUNTS), 2)
        amount = draw.randint(0, balances[giver])
        balances[giver] -= amount
        balances[taker] += amount
        entry = {
            "transfer": transfer,
            "giver": giver,
            "taker": taker,
            "giver_has": balances[giver],
            "taker_has": balances[taker],
        }
        # The log is stored before an account changes; the accounts are stored before their entry is written over.
        device.ask(WRITE, ACCOUNTS + transfer % LOG, packed(entry))
        device.ask(FLUSH)
        mark(transfer)
        for account in (giver, taker):
            device.ask(WRITE, account, packed({"balance": balances[account], "transfer": transfer}))


def check() -> str | None:
    """What is wrong with the ledger of an image; None if nothing is."""
    mark = os.environ["PUMICE_MARK"]
    if not mark:
        return None  # the accounts were not opened yet
    with Path(os.environ["PUMICE_IMAGE"]).open("rb") as image:
        blocks = [unpacked(image.read(BLOCK)) for _ in range(ACCOUNTS + LOG)]
    accounts, entries = blocks[:ACCOUNTS], [entry for entry in blocks[ACCOUNTS:] if entry and "giver" in entry]
    entries.sort(key=lambda entry: entry["transfer"])
    last = entries[-1]["transfer"] if entries else 0
    if last < int(mark):
        return f"transfer {mark} was stored, and the log ends at {last}"
    expected = list(range(max(1, last - LOG + 1), last + 1))
    # The entry that the next transfer writes over may be gone already.
    if [entry["transfer"] for entry in entries if entry["transfer"] > last - LOG + 1] != expected[-(LOG - 1) :]:
        return f"the log has a hole before transfer {last}"
    for entry in entries:
        for side in ("giver", "taker"):
            account = accounts[entry[side]]
            if account is None or account["transfer"] <= entry["transfer"]:
                accounts[entry[side]] = {"balance": entry[f"{side}_has"], "transfer": entry["transfer"]}
    if None in accounts:
        return f"account {accounts.index(None)} is damaged, and no transfer in the log restores it"
    total = sum(account["balance"] for account in accounts if account is not None)
    if total != ACCOUNTS * OPENING_BALANCE:
        return f"the accounts hold {total}; {ACCOUNTS * OPENING_BALANCE} were paid in"
    return None


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
    elif (wrong := check()) is not None:
        sys.exit(wrong)
