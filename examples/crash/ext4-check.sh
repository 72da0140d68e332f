#!/bin/sh
# What a host finds on $PUMICE_IMAGE after a power cut: the journal of ext4 is replayed, the file system checked, and the
# database of ext4.sh must be whole and hold each row that was marked before the cut. Needs e2fsprogs and Python; no root.
[ -n "$PUMICE_MARK" ] || exit 0
e2fsck -p "$PUMICE_IMAGE" >/dev/null 2>&1
e2fsck -fn "$PUMICE_IMAGE" >/dev/null 2>&1 || { echo "e2fsck finds the file system broken"; exit 1; }
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for name in rows.db rows.db-wal; do
    debugfs -R "dump /$name $work/$name" "$PUMICE_IMAGE" 2>/dev/null
done
"${PYTHON:-python3}" - "$work/rows.db" <<'PROGRAM'
import os, sqlite3, sys

try:
    rows = sqlite3.connect(sys.argv[1])
    said = rows.execute("PRAGMA integrity_check").fetchone()[0]
    count = rows.execute("SELECT count(*) FROM row").fetchone()[0]
except sqlite3.DatabaseError as error:
    sys.exit(f"the database is broken: {error}")
if said != "ok":
    sys.exit(f"the database is broken: {said}")
if count < int(os.environ["PUMICE_MARK"]):
    sys.exit(f"the database has {count} rows, {os.environ['PUMICE_MARK']} were committed")
PROGRAM
