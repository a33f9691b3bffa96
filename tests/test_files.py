from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.certify import kernel
from sfumato.cli.main import app
from sfumato.errors import InvalidInput
from sfumato.files import DRAWN, Kind, place_for, read_bytes, read_text, write_whole
from sfumato.specs.heads import first_rows

NOTE = Kind("a note", lambda data: not data.startswith(b"person,"))


def interrupted() -> bytes:
    raise KeyboardInterrupt


def refused(*_: object) -> None:
    raise OSError("no room")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"
    target.write_bytes(b"old and longer")
    assert write_whole(target, lambda: b"new", NOTE, overwrite=True) == b"new"
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_what_ends_early_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "note.txt"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_whole(target, interrupted, NOTE, overwrite=True)
    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(OSError, match="no room"):
        write_whole(target, lambda: b"new", NOTE, overwrite=True)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_devices_and_pipes_are_read_nowhere(tmp_path: Path) -> None:
    pipe, zeros = tmp_path / "pipe.csv", tmp_path / "zeros.csv"
    os.mkfifo(pipe)
    zeros.symlink_to("/dev/zero")
    doors = [lambda file: read_bytes(file, 100), lambda file: read_text(file, 100), first_rows, sf.load, sf.verify]
    for endless in (pipe, zeros):
        for door in doors:
            with pytest.raises(InvalidInput, match="regular file"):
                door(endless)
        done = CliRunner().invoke(app, ["audit", str(endless)])
        assert "regular file" in str(done.exception)
        with pytest.raises(kernel.Unreadable, match="regular file"):
            kernel.read(endless)


def test_nothing_is_computed_for_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no folder"):
        write_whole(tmp_path / "missing" / "note.txt", interrupted, NOTE)
    with pytest.raises(InvalidInput, match="it is a folder"):
        write_whole(tmp_path, interrupted, NOTE)


def test_nothing_is_replaced_unasked_and_what_is_of_another_kind_never_is(tmp_path: Path) -> None:
    note, people, link, pipe = (tmp_path / name for name in ("note.txt", "people.csv", "link.txt", "pipe.txt"))
    note.write_bytes(b"a note")
    people.write_bytes(b"person,home\n")
    link.symlink_to(tmp_path / "nowhere.txt")
    os.mkfifo(pipe)
    with pytest.raises(InvalidInput, match="is already there: overwrite=True replaces it"):
        write_whole(note, interrupted, NOTE)
    for wrong in (people, link, pipe):
        for overwrite in (False, True):
            with pytest.raises(InvalidInput, match="is not a note, and is not replaced: name another file"):
                write_whole(wrong, interrupted, NOTE, overwrite=overwrite)
    assert place_for(note, NOTE, overwrite=True) == note
    assert place_for(tmp_path / "new.txt", NOTE, overwrite=False) == tmp_path / "new.txt"


def test_what_appears_while_a_file_is_made_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"

    def meanwhile() -> bytes:
        target.write_bytes(b"theirs")
        return b"ours"

    with pytest.raises(InvalidInput, match="appeared meanwhile"):
        write_whole(target, meanwhile, NOTE)
    assert target.read_bytes() == b"theirs"


def test_pages_are_known_by_what_they_say_at_their_beginning_or_end() -> None:
    for ours in (
        b'<meta name="generator" content="sfumato">',
        b'"meta":{"generator":"sfumato"}',
        b"tEXtSoftware\0sfumato",
    ):
        assert DRAWN.known(b"..." + ours)
    assert not DRAWN.known(b"<html>notes on sfumato</html>")
