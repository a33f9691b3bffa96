"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from sfumato.arguments import file_path, quoted
from sfumato.errors import InvalidInput

__all__ = ["write_whole"]


def write_whole(path: str | PathLike[str], content: Callable[[], bytes]) -> bytes:
    """Write what ``content`` returns beside the file, move it there, and return it; an old file stays until then.

    The folder is looked for first, so that nothing is computed in vain.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", lambda: b"whole")
    b'whole'
    """
    target = file_path(path)
    try:
        there, taken = target.parent.is_dir(), target.is_dir()
    except OSError as error:
        raise InvalidInput(f"{quoted(target)} cannot be written: {error.strerror}") from error
    if not there:
        raise InvalidInput(f"{quoted(target)} cannot be written: there is no folder {quoted(target.parent)}")
    if taken:
        raise InvalidInput(f"{quoted(target)} cannot be written: it is a folder")
    data = content()
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise InvalidInput(f"{quoted(target)} cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return data


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
