#!/bin/sh
# A SQLite database on ext4 on the device of $PUMICE_URI, run by `pumice crash --script`; see docs/CRASH.md.
# Each row is committed with full synchronisation, and then marked. Needs root (mount), nbdfuse, e2fsprogs and Python.
set -e
work=$(mktemp -d)
mkdir "$work/device" "$work/mounted"
nbdfuse "$work/device" "$PUMICE_URI" &
trap 'umount "$work/mounted" 2>/dev/null || true; fusermount3 -u "$work/device" 2>/dev/null || umount "$work/device" || true; wait; rm -r "$work"' EXIT
until [ -e "$work/device/nbd" ]; do sleep 0.1; done
mkfs.ext4 -q -F -b 4096 "$work/device/nbd"
mount -o loop "$work/device/nbd" "$work/mounted"
"${PYTHON:-python3}" - "$work/mounted/rows.db" "${ROWS:-60}" <<'PROGRAM'
import json, os, socket, sqlite3, sys

control = socket.socket(socket.AF_UNIX)
control.connect(os.environ["PUMICE_CONTROL"].removeprefix("unix:"))
lines = control.makefile("rw")


def mark(text):
    lines.write(json.dumps({"do": "mark", "text": text}) + "\n")
    lines.flush()
    assert json.loads(lines.readline())["ok"]


rows = sqlite3.connect(sys.argv[1], isolation_level=None)
rows.execute("PRAGMA journal_mode = WAL")
rows.execute("PRAGMA synchronous = FULL")
rows.execute("PRAGMA wal_autocheckpoint = 20")
rows.execute("CREATE TABLE row (number INTEGER PRIMARY KEY, content BLOB)")
# The name of the database, too, must be stored before a row can be promised.
folder = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
os.fsync(folder)
for number in range(1, int(sys.argv[2]) + 1):
    rows.execute("INSERT INTO row VALUES (?, ?)", (number, os.urandom(3000)))
    mark(str(number))
PROGRAM
