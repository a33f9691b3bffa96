from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.errors import InvalidInput
from sfumato.files import write_whole


def interrupted() -> bytes:
    raise KeyboardInterrupt


def refused(*_: object) -> None:
    raise OSError("no room")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"
    target.write_bytes(b"old and longer")
    assert write_whole(target, lambda: b"new") == b"new"
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_what_ends_early_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "note.txt"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_whole(target, interrupted)
    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(OSError, match="no room"):
        write_whole(target, lambda: b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_nothing_is_computed_for_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no folder"):
        write_whole(tmp_path / "missing" / "note.txt", interrupted)
    with pytest.raises(InvalidInput, match="it is a folder"):
        write_whole(tmp_path, interrupted)
