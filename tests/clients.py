"""Programs that nobody here wrote, as clients of `pumice serve`: `make clients` says which are installed, runs them,
and prints a table. Status 1 if one of them failed.

    clients.py [NAME ...]      only the checks whose name contains one of these
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pumice
from pumice import _engine

MIB = 1 << 20

#: What goes there and back.
COPIED_BYTES = 1024 * MIB

#: Every translation layer that there is.
LAYERS = re.findall(r'"([^"]+)"', json.loads(_engine.explain("ftl.kind"))["allowed"])

SMALL = pumice.preset("small").with_(ftl={"kind": "page"}, initial={"fill": 0.0}, run={"check": "integrity"})


class Failure(Exception):
    """A client found something wrong."""


def shell(*command: str | Path, inside: Path | None = None) -> str:
    """Runs a command and returns what it says.

    Raises:
        Failure: it ended with another status than 0.
    """
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=inside, check=False)
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise Failure(f"{Path(str(command[0])).name}: status {done.returncode}: {' '.join(said[-3:])[:300]}")
    return done.stdout + done.stderr


def digest(path: Path, size: int) -> str:
    """SHA-256 of the first bytes of a file."""
    sums = hashlib.sha256()
    with path.open("rb") as data:
        for _ in range(size // MIB):
            sums.update(data.read(MIB))
    return sums.hexdigest()


def random_image(path: Path, size: int) -> str:
    """Writes bytes that nothing can guess; returns their SHA-256."""
    with path.open("wb") as out:
        for _ in range(size // MIB):
            out.write(os.urandom(MIB))
    return digest(path, size)


def nbdinfo(device: pumice.ServedDevice, _: Path) -> str:
    said = shell("nbdinfo", device.uri)
    for line in ("is_read_only: false", "can_multi_conn: true", "can_fua: true", "base:allocation"):
        if line not in said:
            raise Failure(f"nbdinfo does not say {line!r}")
    shell("nbdinfo", "--list", device.uri)
    shell("nbdinfo", "--map", device.uri)
    return f"{device.capacity_bytes:,} bytes, flush, FUA, trim, zeroes, several connections, block status"


def copy_there_and_back(device: pumice.ServedDevice, folder: Path) -> str:
    size = min(COPIED_BYTES, device.capacity_bytes // MIB * MIB)
    sent = random_image(folder / "in.img", size)
    shell("nbdcopy", "--flush", folder / "in.img", device.uri)
    shell("nbdcopy", device.uri, folder / "out.img")
    if digest(folder / "out.img", size) != sent:
        raise Failure("what came back is something else")
    return f"{size // MIB} MiB there and back, equal SHA-256"


def patterns(device: pumice.ServedDevice, _: Path) -> str:
    asked = [
        "write -P 0x5a 1M 64k",
        "write -f -P 0x33 4096 512",
        "aio_write -P 0x77 8M 1M",
        "aio_flush",
        "write -z 1M 32k",
        "write -z -u 2M 1M",
        "discard 1056k 4k",
        "flush",
        "read -P 0 1M 32k",
        "read -P 0x5a 1064k 16k",
        "read -P 0x33 4096 512",
        "read -P 0x77 8M 1M",
        "read -P 0 2M 1M",
    ]
    said = shell("qemu-io", "-f", "raw", *(part for one in asked for part in ("-c", one)), device.uri)
    if "Pattern verification failed" in said:
        raise Failure(said)
    return f"{len(asked)} commands: patterns, FUA, zeroes with and without unmap, discard, asynchronous writes"


def convert(device: pumice.ServedDevice, folder: Path) -> str:
    random_image(folder / "in.img", 64 * MIB)
    os.truncate(folder / "in.img", device.capacity_bytes)
    shell("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", folder / "in.img", device.uri)
    shell("qemu-img", "compare", "-f", "raw", "-F", "raw", folder / "in.img", device.uri)
    return "image converted onto the device, and compared"


def fio(device: pumice.ServedDevice, folder: Path) -> str:
    jobs = {
        "random": ["--rw=randwrite", "--bs=4k"],
        "mixed": ["--rw=randrw", "--bsrange=512-64k", "--blockalign=512"],
        "sequential": ["--rw=write", "--bs=128k"],
        "trims": ["--rw=randtrimwrite", "--bs=16k"],
    }
    for name, job in jobs.items():
        verify = ["--verify=crc32c", "--verify_fatal=1", "--do_verify=1"] if name != "trims" else []
        common = ["--ioengine=nbd", f"--uri={device.uri}", "--size=64m", "--iodepth=32", "--fsync=64"]
        shell("fio", f"--name={name}", *common, *job, *verify, inside=folder)
    return f"{', '.join(jobs)}, 64 MiB each, 32 under way, checksums verified"


#: Seconds of the long check.
LONG_S = int(os.environ.get("CLIENTS_LONG_S", "60"))


def fio_long(device: pumice.ServedDevice, folder: Path) -> str:
    """Writes that are verified while they go on, beside trims and writes of another part of the device."""
    where = ["--ioengine=nbd", f"--uri={device.uri}", "--output-format=json"]
    common = ["--bs=16k", "--size=256m", "--iodepth=32", "--time_based", f"--runtime={LONG_S}"]
    verify = ["--verify=crc32c", "--verify_fatal=1", "--verify_backlog=1024"]
    jobs = ["--name=verified", "--rw=randwrite", *common, *verify]
    jobs += ["--name=trims", "--rw=randtrimwrite", "--offset=256m", *common]
    said = shell("fio", *where, *jobs, inside=folder)
    done = json.loads(said[said.index("{") : said.rindex("}") + 1])["jobs"]
    counts = {kind: sum(job[kind]["total_ios"] for job in done) for kind in ("write", "read", "trim")}
    told = ", ".join(f"{count:,} {kind}s" for kind, count in counts.items())
    return f"{LONG_S} s, 32 under way twice: {told}; checksums verified"


def rate(uri: str, folder: Path) -> float:
    """Requests a second of 4 KiB, half reads and half writes, at random, 32 under way on one connection."""
    job = ["--rw=randrw", "--bs=4k", "--iodepth=32", "--size=1g", "--time_based", "--runtime=10", "--randrepeat=0"]
    said = shell("fio", "--name=rate", "--ioengine=nbd", f"--uri={uri}", "--output-format=json", *job, inside=folder)
    done = json.loads(said[said.index("{") : said.rindex("}") + 1])["jobs"][0]
    return float(done["read"]["iops"] + done["write"]["iops"])


def beside_nbdkit(device: pumice.ServedDevice, folder: Path) -> str:
    """The rate of the device and that of a server that simulates nothing, by turns."""
    socket = folder / "nbdkit"
    rates: dict[str, list[float]] = {"pumice": [], "nbdkit": []}
    with subprocess.Popen(["nbdkit", "-f", "-U", str(socket), "memory", "1140850688"]) as other:
        try:
            for _ in range(3):
                rates["pumice"].append(rate(device.uri, folder))
                rates["nbdkit"].append(rate(f"nbd+unix:///?socket={socket}", folder))
        finally:
            other.terminate()
            other.wait(30)
    own, its = sorted(rates["pumice"])[1], sorted(rates["nbdkit"])[1]
    return f"4 KiB, half reads, at random, 32 under way: {own:,.0f} requests/s, nbdkit's memory plugin {its:,.0f}"


@contextmanager
def as_file(device: pumice.ServedDevice, folder: Path) -> Iterator[Path]:
    """The device as a file, through FUSE."""
    place = folder / "fuse"
    place.mkdir()
    with subprocess.Popen(["nbdfuse", str(place), device.uri], stderr=subprocess.DEVNULL) as served:
        file = place / "nbd"
        deadline = time.monotonic() + 20
        while not file.exists():
            if time.monotonic() > deadline or served.poll() is not None:
                raise Failure("nbdfuse does not show the device")
            time.sleep(0.1)
        try:
            yield file
        finally:
            served.terminate()
            served.wait(30)


@contextmanager
def mounted(file: Path, folder: Path) -> Iterator[Path]:
    """The file system in a file, mounted by the kernel."""
    place = folder / "mounted"
    place.mkdir(exist_ok=True)
    shell("mount", "-o", "loop", file, place)
    try:
        yield place
    finally:
        shell("umount", place)


def file_system(make: list[str], check: list[str]) -> Callable[[pumice.ServedDevice, Path], str]:
    """A check that makes a file system, puts a tree and a database on it, and checks it."""

    def run(device: pumice.ServedDevice, folder: Path) -> str:
        with as_file(device, folder) as file:
            shell(*make, file)
            shell(*check, file)
            with mounted(file, folder) as place:
                said = [fill_tree(place), fill_database(place)]
            # Mounted anew, so that nothing is left in the kernel's cache.
            with mounted(file, folder) as place:
                said += [compare_tree(place), check_database(place)]
            shell(*check, file)
        return "; ".join([*said, "checked before and after"])

    return run


#: A tree of many small files that is there on every machine with Python.
TREE = Path(os.__file__).parent


def fill_tree(place: Path) -> str:
    leave_out = shutil.ignore_patterns("site-packages", "dist-packages", "__pycache__")
    shutil.copytree(TREE, place / "tree", ignore=leave_out, symlinks=True)
    files = [path for path in (place / "tree").rglob("*") if path.is_file()]
    return f"{len(files):,} files, {sum(path.stat().st_size for path in files) // MIB} MiB"


def compare_tree(place: Path) -> str:
    for copy in (place / "tree").rglob("*"):
        original = TREE / copy.relative_to(place / "tree")
        if copy.is_file() and not copy.is_symlink() and not filecmp.cmp(original, copy, shallow=False):
            raise Failure(f"{original} differs")
    return "tree equal after mounting again"


def fill_database(place: Path) -> str:
    rows = 20_000
    script = f"""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO t SELECT i, randomblob(200) FROM n; UPDATE t SET v = randomblob(300) WHERE k % 7 = 0;
        DELETE FROM t WHERE k % 11 = 0;"""
    shell("sqlite3", place / "data.db", script)
    return f"SQLite (WAL, full sync), {rows:,} rows"


def check_database(place: Path) -> str:
    said = shell("sqlite3", place / "data.db", "PRAGMA integrity_check; SELECT count(*) FROM t;").split()
    if said[0] != "ok":
        raise Failure(f"integrity_check: {' '.join(said)[:200]}")
    return "integrity_check ok"


def flushes(device: pumice.ServedDevice) -> int:
    """Flushes that the device has taken so far."""
    return int(device.result().to_dict()["host"]["flush"]["requests"] or 0)


def transactions(device: pumice.ServedDevice, folder: Path) -> str:
    """10,000 transactions, each synced, on ext4."""
    count = 10_000
    took: dict[str, tuple[float, int]] = {}
    with as_file(device, folder) as file:
        shell("mkfs.ext4", "-q", "-F", file)
        with mounted(file, folder) as place:
            for mode in ("WAL", "DELETE"):
                data = sqlite3.connect(place / f"{mode}.db", isolation_level=None)
                data.execute(f"PRAGMA journal_mode = {mode}")
                data.execute("PRAGMA synchronous = FULL")
                data.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)")
                before, started = flushes(device), time.monotonic()
                for key in range(count):
                    data.execute("INSERT INTO t VALUES (?, randomblob(200))", (key,))
                took[mode] = (time.monotonic() - started, flushes(device) - before)
                data.close()
        with mounted(file, folder) as place:
            for mode in took:
                said = shell("sqlite3", place / f"{mode}.db", "PRAGMA integrity_check; SELECT count(*) FROM t;").split()
                if said != ["ok", str(count)]:
                    raise Failure(f"{mode}: {' '.join(said)[:200]}")
        shell("fsck.ext4", "-fn", file)
    rates = ", ".join(
        f"{mode} {count / seconds:,.0f} a second, {synced:,} flushes" for mode, (seconds, synced) in took.items()
    )
    return f"SQLite, full sync, {count:,} transactions: {rates}; integrity_check ok"


#: Keys of RocksDB's database, and how many of them are written again, each synced.
ROCKSDB_KEYS, ROCKSDB_SYNCED = 200_000, 10_000


def db_bench(place: Path, benchmark: str, *more: str) -> list[str]:
    """The command of a benchmark over the database in a folder."""
    return [
        "db_bench",
        f"--db={place / 'rocksdb'}",
        f"--benchmarks={benchmark}",
        f"--num={ROCKSDB_KEYS}",
        "--value_size=400",
        "--verify_checksum=1",
        *more,
    ]


def operations_a_second(said: str, benchmark: str) -> float:
    """What db_bench says of a benchmark.

    Raises:
        Failure: it says nothing.
    """
    found = re.search(rf"^{benchmark} *:.*? (\d+) ops/sec", said, re.MULTILINE)
    if found is None:
        raise Failure(f"db_bench does not say how fast {benchmark} was")
    return float(found.group(1))


def rocksdb(device: pumice.ServedDevice, folder: Path) -> str:
    """RocksDB's own benchmark on ext4: keys are written, some again and synced, and all are found after mounting."""
    old = ["--use_existing_db=1"]
    with as_file(device, folder) as file:
        shell("mkfs.ext4", "-q", "-F", file)
        with mounted(file, folder) as place:
            filled = operations_a_second(shell(*db_bench(place, "fillseq")), "fillseq")
            before = flushes(device)
            written = shell(*db_bench(place, "overwrite", *old, "--sync=1", f"--writes={ROCKSDB_SYNCED}"))
            synced, flushed = operations_a_second(written, "overwrite"), flushes(device) - before
        with mounted(file, folder) as place:
            said = shell(*db_bench(place, "readrandom", *old))
            if f"({ROCKSDB_KEYS} of {ROCKSDB_KEYS} found)" not in said:
                raise Failure("db_bench does not find every key")
            if shell("ldb", f"--db={place / 'rocksdb'}", "checkconsistency").strip() != "OK":
                raise Failure("ldb checkconsistency")
        shell("fsck.ext4", "-fn", file)
    return (
        f"db_bench on ext4: fillseq of {ROCKSDB_KEYS:,} keys, {filled:,.0f} a second; overwrite of {ROCKSDB_SYNCED:,}, "
        f"synced, {synced:,.0f} a second, {flushed:,} flushes; every key found after mounting again; consistent"
    )


@dataclass(frozen=True)
class Check:
    """One row of the table.

    Attributes:
        name: what is done.
        programs: what must be installed.
        run: does it; returns what was found.
        layer: `ftl.kind` of the device.
    """

    name: str
    programs: list[str]
    run: Callable[[pumice.ServedDevice, Path], str]
    layer: str = "page"


ON_FUSE = ["nbdfuse", "mount", "sqlite3"]
CHECKS = [
    Check("nbdinfo", ["nbdinfo"], nbdinfo),
    *(Check(f"nbdcopy, {layer}", ["nbdcopy"], copy_there_and_back, layer) for layer in LAYERS),
    Check("qemu-io", ["qemu-io"], patterns),
    Check("qemu-io, nftl", ["qemu-io"], patterns, "nftl"),
    Check("qemu-img", ["qemu-img"], convert),
    Check("fio", ["fio"], fio),
    Check("fio, fast", ["fio"], fio, "fast"),
    Check("fio, long", ["fio"], fio_long),
    Check("speed beside nbdkit", ["fio", "nbdkit"], beside_nbdkit),
    Check("transactions", ["mkfs.ext4", "fsck.ext4", *ON_FUSE], transactions),
    Check("rocksdb", ["mkfs.ext4", "fsck.ext4", "db_bench", "ldb", *ON_FUSE], rocksdb),
    Check("ext4", ["mkfs.ext4", "fsck.ext4", *ON_FUSE], file_system(["mkfs.ext4", "-q", "-F"], ["fsck.ext4", "-fn"])),
    Check(
        "ext4, superblock-pen",
        ["mkfs.ext4", "fsck.ext4", *ON_FUSE],
        file_system(["mkfs.ext4", "-q", "-F"], ["fsck.ext4", "-fn"]),
        "superblock-pen",
    ),
    Check(
        "xfs", ["mkfs.xfs", "xfs_repair", *ON_FUSE], file_system(["mkfs.xfs", "-q", "-f"], ["xfs_repair", "-n", "-f"])
    ),
    Check("btrfs", ["mkfs.btrfs", "btrfs", *ON_FUSE], file_system(["mkfs.btrfs", "-q", "-f"], ["btrfs", "check"])),
]


def version(program: str) -> str:
    """What a program says of its version."""
    for option in ("--version", "-V"):
        try:
            done = subprocess.run([program, option], capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
        if found:
            return found.group()
    return ""


def outcome(check: Check) -> tuple[str, str, str]:
    """Runs a check: its verdict, what was found, and the write amplification."""
    missing = [program for program in check.programs if shutil.which(program) is None]
    if missing:
        return "not installed", ", ".join(missing), ""
    with tempfile.TemporaryDirectory(prefix="pumice-clients-") as folder:
        started = time.monotonic()
        try:
            with pumice.serve(SMALL.with_(ftl={"kind": check.layer})) as device:
                found = check.run(device, Path(folder))
            document = device.result().to_dict()
        except (Failure, pumice.SimulationError, pumice.SpecError, OSError) as error:
            return "FAILED", " ".join(str(error).split()), ""
        amplification = document["write_amplification"]
        amplified = f"{amplification:.2f}" if amplification is not None else ""
        return "ok", f"{found}; {time.monotonic() - started:.0f} s", amplified


def main(wanted: list[str]) -> int:
    """Runs the checks and prints the table."""
    programs = sorted({program for check in CHECKS for program in check.programs})
    for program in programs:
        place = shutil.which(program)
        print(f"{program}: {version(program) if place else 'not installed'}")
    print("\n| Client | Verdict | What was done | Write amplification |\n|---|---|---|---|")
    failed = 0
    for check in CHECKS:
        if wanted and not any(word in check.name for word in wanted):
            continue
        verdict, *cells = outcome(check)
        failed += verdict == "FAILED"
        print(f"| {' | '.join([check.name, verdict, *cells])} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
