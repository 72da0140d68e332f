"""Policies of your own: which block is reclaimed, which stream a page joins, when an erase is suspended, and which
block's data is moved to level wear.

    import pumice

    def fewest_valid(plane):
        closed = plane.oldest != pumice.policy.NO_BLOCK
        return plane.oldest[closed.argmax()]

    result = pumice.run(spec, policy=pumice.policy.victim(fewest_valid))

A policy is a Python function, a function that numba or ctypes made callable from C, a class with such functions as
methods, or a shared object (`pumice.policy.library`; see pumice_policy.h). docs/POLICIES.md leads through all of them.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pumice import _engine
from pumice.errors import SpecError, one_line
from pumice.runs.keys import known_as

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ABOUT_ERASE",
    "ABOUT_PAGE",
    "ABOUT_PLANE",
    "NO_BLOCK",
    "STATE_ERASE",
    "STATE_PAGE",
    "STATE_PLANE",
    "Device",
    "Erase",
    "Plane",
    "Policy",
    "library",
    "of_class",
    "placement",
    "suspend",
    "victim",
    "wear_swap",
]

#: In `Plane.oldest`: no closed block has so many valid pages. In C: what wear_swap answers if nothing shall move.
NO_BLOCK = 0xFFFFFFFF

#: Types of compiled functions, as `numba.cfunc` takes them; pumice_policy.h says what the arguments are. `ABOUT_PLANE`
#: is for victim and wear_swap, `ABOUT_PAGE` for placement, `ABOUT_ERASE` for suspend.
ABOUT_PLANE = "uint32(uint32, uint64, voidptr, uint32, CPointer(uint32), CPointer(float64), uint32)"
ABOUT_PAGE = "uint32(uint32, uint32, uint64, uint32)"
ABOUT_ERASE = "uint32(uint32, uint64, uint64, uint64, uint32, uint32, uint32)"

#: The same of a policy with a state: its memory comes first, and of a plane the column of when blocks were opened and
#: closed stands behind that of the blocks.
STATE_PLANE = "uint32(voidptr, uint32, uint64, voidptr, voidptr, uint32, CPointer(uint32), CPointer(float64), uint32)"
STATE_PAGE = "uint32(voidptr, uint32, uint32, uint64, uint32)"
STATE_ERASE = "uint32(voidptr, uint32, uint64, uint64, uint64, uint32, uint32, uint32)"

#: What a policy may decide, in the order in which results list it.
DECISIONS = ("victim", "placement", "suspend", "wear_swap")

#: The most streams of a placement.
STREAMS_MAX = 8


class Device(NamedTuple):
    """The device of a run: numbers of planes, blocks of a plane, pages of a block and logical pages, and the seed;
    and the values of the policy's keys by name."""

    planes: int
    blocks_per_plane: int
    pages_per_block: int
    user_pages: int
    seed: int
    keys: Mapping[str, bool | int | float]


class Plane:
    """A plane about which a decision is to be made. The arrays are read-only views of what the engine itself works
    with: they change from call to call, and nothing is copied.

    Attributes:
        index: number of the plane.
        now: pages written to the plane so far; its clock.
        valid: valid pages of each block, meaningful while it is closed. (uint16)
        changed: clock when the block came to that number. (uint64)
        erases: erases of each block in this run. (uint32)
        stream: stream of the block's pages: the policy's own, if it places pages; else 0 host, 1 hot, 2 copies, 3 hot
            copies, 4 moved to level wear. (uint8)
        closed: whether the block is written to its last page and not being reclaimed. Only such a block may be named.
            (bool)
        oldest: for each number of valid pages, 0 to pages of a block, that closed block with so many which has been
            unchanged longest; `NO_BLOCK` if there is none. (uint32)
        age: the age of that block, `now - changed + 1`; 0 if there is none. (float64)
        opened_at: clock when the first page of each block was about to be written. (uint64)
        closed_at: clock when its last page had been written, meaningful while it is closed. (uint64)
    """

    __slots__ = (
        *("age", "changed", "closed", "closed_at", "erases", "index", "now", "oldest", "opened_at", "stream", "valid"),
    )

    age: NDArray[np.float64]
    changed: NDArray[np.uint64]
    closed: NDArray[np.bool_]
    closed_at: NDArray[np.uint64]
    opened_at: NDArray[np.uint64]
    erases: NDArray[np.uint32]
    oldest: NDArray[np.uint32]
    stream: NDArray[np.uint8]
    valid: NDArray[np.uint16]

    def __init__(self, index: int, columns: Mapping[str, Any]) -> None:
        import numpy as np  # loaded here: most commands need no policy

        self.index = index
        self.now = 0
        for name, column in columns.items():
            setattr(self, name, np.asarray(column))


class Erase(NamedTuple):
    """An erase that can be suspended for reads that wait: the die, the simulated time, how much of the erase is done
    where it would stop and the whole of it, in nanoseconds; suspensions so far; reads that wait for the die; whether a
    write waits for the block."""

    die: int
    now_ns: int
    done_ns: int
    total_ns: int
    suspensions: int
    waiting_reads: int
    urgent: bool


@dataclass(frozen=True)
class Policy:
    """A policy, as `pumice.run`, `pumice.sweep` and `Spec.with_policy` take it.

    Attributes:
        name: as errors and results have it.
        sha256: of the file or source that it comes from.
        decides: which of `DECISIONS` it takes.
        streams: streams of its placement; 0 if it places nothing.
        library: path of its shared object; None if it is in Python.
        make: makes what decides in one run from a `Device`; None if it is a shared object.
        keys: keys of the section `[policy]` with their defaults, if it is no shared object.
    """

    name: str
    sha256: str
    decides: tuple[str, ...]
    streams: int = 0
    library: str | None = None
    make: Callable[[Device], Any] | None = None
    keys: tuple[tuple[str, bool | int | float], ...] = ()

    def at_work(self, device: Mapping[str, Any]) -> _AtWork:
        """What the engine asks in one run."""
        assert self.make is not None
        return _AtWork(self.make(Device(**device)), self.decides)

    def request(self) -> dict[str, str]:
        """The policy as a part of a request that another process can run.

        Raises:
            SpecError: cloudpickle is missing, or cannot pack the policy.
        """
        if self.library is not None:
            return {"sha256": self.sha256, "library": self.library}
        return {"sha256": self.sha256, "packed": _packed(self)}


def victim(function: Callable[[Plane], int], *, name: str | None = None) -> Policy:
    """A policy that chooses which block of a plane is reclaimed next.

    Args:
        function: given a `Plane`, returns the index of one of its closed blocks. Called if a closed block of the plane
            has an invalid page. Or a function that numba (`cfunc(ABOUT_PLANE)`) or ctypes made callable from C.
        name: name of the policy; the function's own if absent.
    """
    return _of_functions(name, {"victim": function})


def placement(function: Callable[[int, int, int, int | None], int], streams: int, *, name: str | None = None) -> Policy:
    """A policy that chooses which stream a page joins. Pages of a stream lie together; every stream has an open block
    in each plane.

    Args:
        function: given the logical page, the plane, the plane's clock, and the stream of the block that collection
            copies the page from (None: the host writes it), returns a stream, 0 to `streams` - 1. Or a function that
            numba (`cfunc(ABOUT_PAGE)`) or ctypes made callable from C.
        streams: number of streams, 1 to 8.
        name: name of the policy; the function's own if absent.
    """
    return _of_functions(name, {"placement": function}, streams)


def suspend(function: Callable[[Erase], bool], *, name: str | None = None) -> Policy:
    """A policy that chooses whether an erase is suspended where `erase.suspension` says that it could be.

    Args:
        function: given an `Erase`, returns whether it stops there. Or a function that numba (`cfunc(ABOUT_ERASE)`) or
            ctypes made callable from C.
        name: name of the policy; the function's own if absent.
    """
    return _of_functions(name, {"suspend": function})


def wear_swap(function: Callable[[Plane], int | None], *, name: str | None = None) -> Policy:
    """A policy that chooses which block's data is moved to level wear.

    Args:
        function: given a `Plane`, returns the index of a closed block or None. Called after each reclaimed block. Or a
            function made callable from C.
        name: name of the policy; the function's own if absent.
    """
    return _of_functions(name, {"wear_swap": function})


def of_class(made: Callable[[Device], Any], *, streams: int = 0, name: str | None = None) -> Policy:
    """A policy with a state of its own, or with several decisions.

    Args:
        made: a class (or a function) that is called with the `Device` once a run, and returns an object with methods
            `victim`, `placement`, `suspend` and `wear_swap`, as many as it decides. See the functions of these names.
            What it has as `keys`, a dictionary of defaults, are keys of the section `[policy]`; `device.keys` has their
            values. If the object has a `state`, an array of NumPy, its methods are functions that numba or ctypes made
            callable from C, and are given the memory of that array first (`STATE_PLANE`, `STATE_PAGE`, `STATE_ERASE`).
        streams: number of streams of its placement.
        name: name of the policy; the class's own if absent.

    Raises:
        SpecError: it has none of these methods, or streams without a placement.
    """
    decides = tuple(decision for decision in DECISIONS if callable(getattr(made, decision, None)))
    return _policy(name, made, decides, streams, made)


def library(path: str | os.PathLike[str]) -> Policy:
    """The policy of a shared object (pumice_policy.h).

    Raises:
        SpecError: it cannot be loaded, or holds no policy of this version.
    """
    where = os.path.abspath(os.fsdecode(path))
    name, sha256, decides, streams = _engine.policy_of_library(where)
    return Policy(name, sha256, tuple(decides), streams, library=where)


def check_policy(policy: Any) -> Policy:
    """`policy`, if it is one, or that of the shared object at a path.

    Raises:
        SpecError: it is something else.
    """
    if isinstance(policy, str | os.PathLike):
        hint = "" if os.path.exists(policy) else known_as(os.fsdecode(policy))
        if hint:
            raise SpecError(f"policy: no file '{os.fsdecode(policy)}'{hint}")
        return library(policy)
    if isinstance(policy, Policy):
        return policy
    raise SpecError(
        f"policy: {type(policy).__name__} is none; allowed: a path of a shared object, or what pumice.policy.victim,"
        " placement, suspend, wear_swap or of_class return"
    )


def _of_functions(name: str | None, functions: dict[str, Any], streams: int = 0) -> Policy:
    function = next(iter(functions.values()))
    if not callable(function):
        raise SpecError(f"policy: {type(function).__name__} is not a function")
    return _policy(name, function, tuple(functions), streams, _Fixed(functions))


def _policy(
    name: str | None, source: Any, decides: tuple[str, ...], streams: int, make: Callable[[Device], Any]
) -> Policy:
    own = _python_function(source)
    name = name or str(getattr(own, "__name__", type(own).__name__))
    if not decides:
        raise SpecError(f"policy {name!r} decides nothing; allowed: methods {', '.join(DECISIONS)}")
    if ("placement" in decides) != (1 <= streams <= STREAMS_MAX):
        raise SpecError(f"policy {name!r}: streams = {streams}; allowed: 1 to {STREAMS_MAX} with a placement, else 0")
    keys = tuple(dict(getattr(source, "keys", None) or {}).items()) if isinstance(source, type) else ()
    return Policy(name, _source_digest(own), decides, streams, make=make, keys=keys)


def _python_function(function: Any) -> Any:
    """The function that numba compiled, or the function itself."""
    return getattr(function, "_pyfunc", function)


def _source_digest(made: Any) -> str:
    """SHA-256 of the file that defines a function or class; of its own text or code, if it is in no file."""
    try:
        path = inspect.getsourcefile(made)
        if path is not None and os.path.isfile(path):
            return hashlib.sha256(Path(path).read_bytes()).hexdigest()
        text = inspect.getsource(made)
    except (OSError, TypeError):
        code = getattr(made, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code is not None else repr(made)
    return hashlib.sha256(text.encode()).hexdigest()


class _Fixed:
    """Functions that decide in every run alike."""

    def __init__(self, functions: dict[str, Any]) -> None:
        for decision, function in functions.items():
            setattr(self, decision, function)

    def __call__(self, _device: Device) -> _Fixed:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: _unbound(function) for name, function in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: _bound(function) for name, function in state.items()})


class _NumbaFunction(NamedTuple):
    """A function that numba compiled, as another process can compile it again."""

    signature: Any
    function: Any


def _unbound(function: Any) -> Any:
    if hasattr(function, "_pyfunc") and hasattr(function, "_sig"):
        return _NumbaFunction(function._sig, function._pyfunc)
    return function


def _bound(function: Any) -> Any:
    if isinstance(function, _NumbaFunction):
        import numba

        return numba.cfunc(function.signature)(function.function)
    return function


def _address(function: Any) -> int | None:
    """Address of a function that was made callable from C; None if it is a Python function."""
    if isinstance(getattr(function, "address", None), int):  # numba
        return int(function.address)
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and isinstance(function, ctypes._CFuncPtr):
        address: int | None = ctypes.cast(function, ctypes.c_void_p).value
        return address
    return None


class _AtWork:
    """What the engine asks in one run: for each decision a Python function, an address, or None."""

    def __init__(self, made: Any, decides: tuple[str, ...]) -> None:
        self._made = made  # keeps compiled functions alive
        for decision in DECISIONS:
            function = getattr(made, decision, None) if decision in decides else None
            address = _address(function)
            setattr(self, decision, function if address is None else address)
        state = getattr(made, "state", None) if any(isinstance(getattr(self, one), int) for one in DECISIONS) else None
        self.state: int | None = None if state is None else int(state.ctypes.data)

    plane = staticmethod(Plane)
    erase = staticmethod(Erase)


def _packed(policy: Policy) -> str:
    try:
        import cloudpickle
    except ImportError:
        raise SpecError("a policy in other processes needs the package cloudpickle: pip install cloudpickle") from None
    module = inspect.getmodule(_python_function(getattr(policy.make, policy.decides[0], policy.make)))
    by_value = module is not None and module.__name__ in sys.modules and module.__name__ != "__main__"
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            return base64.b64encode(cloudpickle.dumps(policy)).decode()
        finally:
            if by_value:
                cloudpickle.unregister_pickle_by_value(module)
    except Exception as error:  # whatever a function drags along may refuse to be packed
        raise SpecError(f"policy {policy.name!r} cannot be given to other processes: {one_line(error)}") from None


def unpacked(packed: str) -> Policy:
    """The policy that `Policy.request` has packed."""
    import pickle

    policy: Policy = pickle.loads(base64.b64decode(packed))
    return policy


def interrupt(thread: int) -> None:
    """Raises `TimeoutError` in a thread of Python that is in an endless loop."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeoutError))


def told(error: BaseException) -> str:
    """An exception of a policy in one line, with the place where it was raised."""
    text = str(error).splitlines()
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' + text[0] if text else ''}{place}"
