"""Workers that run tests side by side do not compile one function at the same time.

A compiler that finds nothing kept on disk works for seconds, and a second worker that needs the same function meanwhile
would do the same work again; and of two that write their results at once, one is lost from the index. Here each
function has a file that is locked while it is looked up and compiled: who comes second waits, and reads what was kept.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_one_at_a_time() -> None:
    """Let every compiled function wait for other processes that compile the same one."""
    compiled = Dispatcher.compile

    def compile_alone(dispatcher: Any, signature: Any) -> Any:
        # the compiler's own lock comes first: a thread that waits for a file must not be waited for by another one
        with global_compiler_lock, _locked(dispatcher.py_func):
            return compiled(dispatcher, signature)

    Dispatcher.compile = compile_alone


@contextmanager
def _locked(function: Callable[..., Any]) -> Iterator[None]:
    """Hold the file of a function; functions that call each other in a ring would wait for ever, and none does."""
    where = f"{function.__code__.co_filename}:{function.__qualname__}"
    with _file(where).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _file(where: str) -> Path:
    digest = blake2b(where.encode(), digest_size=12).hexdigest()
    return Path(gettempdir()) / f"sfumato-compiling-{os.getuid()}-{digest}"
