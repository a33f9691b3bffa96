"""How much memory there is, asked before anything large is built.

A process that takes more than there is does not get an error: it is killed, or the machine stands still. So sizes are
worked out beforehand, and what cannot fit is refused with its size and with what to do instead (:func:`check_memory`).
Allocations that fail all the same, on a device or here, become the same error at one door (:func:`refusing`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import TooLarge

_SHARE = 0.8  # of the free memory: estimates leave out small arrays, and other programs need some
_UNKNOWN = 2**34  # bytes, where the system does not tell: a machine of today has so many
_MEMINFO = Path("/proc/meminfo")
_GROUPS = Path("/sys/fs/cgroup")
_GROUP_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def free_memory() -> int:
    """Bytes that this process may still take: of the machine, and of the container it runs in."""
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    return max(min(found), 0) if found else _UNKNOWN


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:  # not free but there: better than nothing to go by
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_container() -> int | None:
    """What a control group leaves; its files are there where it has a limit."""
    for limit, used in _GROUP_FILES:
        try:
            return int((_GROUPS / limit).read_text()) - int((_GROUPS / used).read_text())
        except (OSError, ValueError):  # not there, or the limit is "max"
            continue
    return None


def room() -> int:
    """Bytes that one call may plan with."""
    return int(_SHARE * free_memory())


def check_memory(size: float, what: str, instead: Iterable[str], available: int | None = None) -> None:
    """Refuse what is larger than the memory that is free, or than the ``available`` bytes of a device.

    Raises
    ------
    TooLarge
        With the size and what to do instead.
    """
    there = room() if available is None else available
    if size > there:
        raise TooLarge(what, size, there, instead)


@contextmanager
def refusing(what: str, instead: Iterable[str]) -> Iterator[None]:
    """Turn an allocation that fails, of NumPy, of torch or of Python, into our error."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch's is one of the second kind, and torch may not be there
        if isinstance(error, RuntimeError) and type(error).__name__ != "OutOfMemoryError":
            raise
        raise TooLarge(what, None, None, instead) from error
