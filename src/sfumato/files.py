"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.arguments import file_path, quoted
from sfumato.errors import InvalidInput, NotSupported, keyword, shown

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


def read_bytes(file: Path, largest: int) -> bytes:
    """The content of a file of at most so many bytes."""
    try:
        refuse_endless(file)
        if file.stat().st_size > largest:
            raise InvalidInput(f"{quoted(file)} is larger than {largest >> 20} MiB")
        return file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{quoted(file)} cannot be read: {error.strerror or error}") from error


def refuse_endless(file: Path) -> None:
    """Refuse what is there and is neither a file nor a folder: devices and pipes may have no end, or nothing ever."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise InvalidInput(f"{quoted(file)} cannot be read: it is a device or a pipe, and no regular file")


_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")


def refuse_spreadsheet(file: Path) -> None:
    """Say to whom has a spreadsheet what to do: it may have several sheets, formulas, and dates that are numbers."""
    if file.suffix.lower() in _SPREADSHEETS:
        raise NotSupported(
            f"the format of {shown(file.name)} is that of a spreadsheet, which is neither read nor written: save its "
            "sheet as CSV (CSV UTF-8) and name that file"
        )


def read_text(file: Path, largest: int) -> str:
    """The text of a file in UTF-8 of at most so many bytes, with or without a mark at its beginning."""
    refuse_spreadsheet(file)
    try:
        return read_bytes(file, largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{quoted(file)} is not text in UTF-8 (byte {error.start})") from error


def writable(path: str | PathLike[str]) -> Path:
    """Where to write, looked at before any work is done."""
    target = file_path(path)
    try:
        if not target.parent.is_dir():
            raise InvalidInput(f"{quoted(target)} cannot be written: there is no folder {quoted(target.parent)}")
        if target.is_dir():
            raise InvalidInput(f"{quoted(target)} cannot be written: it is a folder")
    except OSError as error:
        raise InvalidInput(f"{quoted(target)} cannot be written: {error.strerror}") from error
    return target


@dataclass(frozen=True)
class Kind:
    """What a file that is written is called, and how the ends of an old one show that it is such a file too."""

    name: str
    known: Callable[[bytes], bool]


GENERATOR = "sfumato"
"""The name by which pages and figures say what has made them."""

_SIGNATURE = re.compile(
    rb'name="generator" content="sfumato"|"generator":\s?"sfumato"|Software\0sfumato|'
    rb"<!-- made by sfumato -->|% made by sfumato"
)

DRAWN = Kind("a page or figure of sfumato", lambda data: _SIGNATURE.search(data) is not None)
"""Pages and figures in every format: each has a place for the name of the program that made it."""


def place_for(path: str | PathLike[str], kind: Kind, *, overwrite: bool) -> Path:
    """Where a file of a kind is written, looked at before any work is done.

    Nothing is replaced unless that was asked for, and what is not of that kind never is: it may be all the data that
    somebody has.
    """
    target = writable(path)
    if not os.path.lexists(target):
        return target
    try:
        same = target.is_file() and kind.known(_ends(target))
    except OSError:  # what cannot be read is not known to be ours
        same = False
    if not same:
        raise InvalidInput(f"{quoted(target)} is there and is not {kind.name}, and is not replaced: name another file")
    if not overwrite:
        raise InvalidInput(f"{quoted(target)} is already there: {keyword('overwrite', True)} replaces it")
    return target


def _ends(file: Path) -> bytes:
    """The beginning and the end of a file of any size."""
    with file.open("rb") as opened:
        first = opened.read(_END)
        opened.seek(max(0, file.stat().st_size - _END))
        return first + opened.read(_END)


_END = 1 << 16  # bytes: pages say at their beginning what has made them, other formats at the end


def write_whole(
    path: str | PathLike[str], content: Callable[[], bytes], kind: Kind, *, overwrite: bool = False
) -> bytes:  # fmt: skip
    """Write what ``content`` returns beside the file, move it there, and return it; an old file stays until then.

    The place is looked at first, as by :func:`place_for`, so that nothing is computed in vain.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", lambda: b"whole", Kind("a note", lambda data: True))
    b'whole'
    """
    target = place_for(path, kind, overwrite=overwrite)
    data = content()
    try:
        part = PartialFile(target)
    except OSError as error:
        raise InvalidInput(f"{quoted(target)} cannot be written: {error.strerror}") from error
    with part:
        with open(part.handle, "wb", closefd=False) as file:
            file.write(data)
        part.settle()
        part.place(overwrite=overwrite)
    return data


class PartialFile:
    """A file under another name in the folder of its target, held by a lock as long as this process lives.

    Used as a context: the other name is gone afterwards, whatever happens. What earlier processes left of the same
    target is removed first.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        _remove_leftovers(target)
        while True:
            self.handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
            self.temporary = Path(name)
            _held(self.handle, wait=True)  # for who is just taking it for a leftover, to see what came of it
            if self.temporary.exists():
                break
            os.close(self.handle)

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)
        self.temporary.unlink(missing_ok=True)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder for what is not written through this file, gone afterwards; who finds a leftover removes it too."""
        place = _folder_of(self.temporary)
        place.mkdir(mode=0o700)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def settle(self) -> None:
        """Bring the content to the disk."""
        os.fsync(self.handle)

    def place(self, *, overwrite: bool) -> None:
        """Let others read the file, which they could not before, and give it its name."""
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(self.temporary, 0o666 & ~mask)
        if overwrite:
            os.replace(self.temporary, self.target)
        else:
            try:
                os.link(self.temporary, self.target)  # unlike a renaming, this never replaces what has appeared there
            except OSError:  # something is there, or the file system has no links
                if os.path.lexists(self.target):
                    raise InvalidInput(f"{quoted(self.target)} has appeared meanwhile: nothing was written") from None
                os.replace(self.temporary, self.target)
        with suppress(OSError):  # where folders cannot be opened, the name reaches the disk when it does
            folder = os.open(self.target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


@contextmanager
def partial_files(contents: Mapping[Path, bytes]) -> Iterator[list[PartialFile]]:
    """Files with these contents on the disk, under other names; :func:`place_together` gives them theirs."""
    with ExitStack() as stack:
        parts = [stack.enter_context(PartialFile(target)) for target in contents]
        for part, content in zip(parts, contents.values(), strict=True):
            with open(part.handle, "wb", closefd=False) as file:
                file.write(content)
            part.settle()
        yield parts


def place_together(parts: Sequence[PartialFile], *, overwrite: bool) -> None:
    """Give several files their names: all of them, or none, and what was there before stays where one fails.

    Whoever kills the process between two names can still see some of them; the last one is given its name last, so that
    where it is, all are.
    """
    placed: list[PartialFile] = []
    with ExitStack() as stack:
        before = {part.target: stack.enter_context(_Aside(part.target)) for part in parts if overwrite}
        try:
            for part in parts:
                part.place(overwrite=overwrite)
                placed.append(part)
        except BaseException:
            for part in placed:
                part.target.unlink(missing_ok=True)
                if overwrite:
                    before[part.target].put_back()
            raise


class _Aside:
    """A second name of a file that is about to be replaced; it is gone afterwards."""

    def __init__(self, target: Path) -> None:
        self.target = target
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        os.close(handle)
        self.name = Path(name)
        self.name.unlink()

    def __enter__(self) -> _Aside:
        if self.target.exists():
            try:
                os.link(self.target, self.name)
            except OSError:  # a file system without links
                shutil.copy2(self.target, self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self.name.unlink(missing_ok=True)

    def put_back(self) -> None:
        """What was there before is there again, if anything was."""
        if self.name.exists():
            os.replace(self.name, self.target)


def _folder_of(temporary: Path) -> Path:
    return temporary.with_name(f"{temporary.name}.d")


def _held(handle: int, *, wait: bool = False) -> bool:
    """Whether this process now holds the lock of a file; never where there are no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_leftovers(target: Path) -> None:
    """Remove parts of the same target that no process holds."""
    for entry in os.scandir(target.parent):
        if not (entry.name.startswith(f".{target.name}.") and entry.name.endswith(".part")):
            continue
        with suppress(OSError):
            handle = os.open(entry.path, os.O_RDWR)
            try:
                if entry.is_file(follow_symlinks=False) and _held(handle):
                    shutil.rmtree(_folder_of(Path(entry.path)), ignore_errors=True)
                    os.unlink(entry.path)
            finally:
                os.close(handle)
