"""Arrays in .npy files."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np

from pumice.errors import SpecError, reason

#: Longest file that is read, in bytes.
BYTES_MAX = 1 << 30


def read_array(path: Path, name: str = "") -> np.ndarray[Any, Any]:
    """The array of numbers in an .npy file. Memory is taken for what the file holds, whatever its head claims.

    Args:
        path: the file.
        name: begins the message of an error, before the path.

    Raises:
        SpecError: it cannot be read, is too long, or is no array of numbers.
    """
    what = f"{name}: {path}" if name else str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise SpecError(f"{what}: is not a file; an .npy file is needed")
        if found.st_size > BYTES_MAX:
            raise SpecError(f"{what}: is longer than {BYTES_MAX:,} bytes; allowed: at most that")
        # Mapped: NumPy then compares the size that the head claims with that of the file.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise SpecError(f"{what}: an archive of arrays; expected one array")
        return np.array(array)
    except SpecError:
        raise
    except OSError as error:
        raise SpecError(f"{what}: {reason(error)}") from None
    except Exception:  # NumPy's reader of heads raises whatever its tokenizer does
        raise SpecError(f"{what}: not an .npy array of numbers") from None
