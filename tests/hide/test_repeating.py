"""The spec beside a release repeats it: the same mechanism where its file is there, whatever ended the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from hide_files import BOX, csv_file, table
from sfumato.errors import InvalidFile
from sfumato.specs.spec import read_spec

CUT_OFF: dict[str, Any] = {"box": BOX, "cell": "500 m", "tolerance": 0.0001, "time_limit": 0.5}

ROADS = """[space]
kind = 'roads'
unit = 'km'
ways = 'both'
file = 'streets.csv'
first = 'a'
second = 'b'
length = 'km'
crossings = {file = 'crossings.csv', label = 'id'}

[privacy]
double_at = '500 m'

[release]
latitude = 'lat'
longitude = 'lon'
"""


def test_a_search_that_was_cut_off_is_repeated_exactly(tmp_path: Path) -> None:
    source = csv_file(tmp_path / "trips.csv")
    done = sf.hide(source, "1 km", output=tmp_path / "hidden.csv", **CUT_OFF)
    again = sf.hide(source, spec=read_spec(done.files[3]), output=tmp_path / "again.csv")
    assert again.files[1].read_bytes() == done.files[1].read_bytes()
    assert again.files[3].read_bytes() == done.files[3].read_bytes()
    assert (again.design.loss, again.design.bound) == (done.design.loss, done.design.bound)
    assert "that of hidden.sfm, which the spec names" in again.why and again.spec == done.spec
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "hidden.toml").write_bytes(done.files[3].read_bytes())
    (elsewhere / "hidden.sfm").write_bytes(done.files[1].read_bytes())
    third = sf.hide(source, spec=read_spec(elsewhere / "hidden.toml"), output=elsewhere / "third.csv")
    assert third.mechanism.proof.digest == done.mechanism.proof.digest


def test_another_question_is_answered_anew_and_another_mechanism_refused(tmp_path: Path) -> None:
    source = csv_file(tmp_path / "trips.csv")
    quick = {"box": BOX, "cell": "1 km", "tolerance": 0.5}
    done = sf.hide(source, "1 km", output=tmp_path / "hidden.csv", **quick)
    spec = done.files[3]
    assert (
        "which the spec names" not in sf.hide(source, spec=read_spec(spec), output=tmp_path / "b.csv", time_limit=9).why
    )
    spec.write_text(spec.read_text().replace('"1 km"', '"2 km"', 1))  # the promise was edited
    edited = sf.hide(source, spec=read_spec(spec), output=tmp_path / "c.csv")
    assert "which the spec names" not in edited.why and edited.mechanism.proof.digest != done.mechanism.proof.digest
    other = sf.hide(table(), "3 km", **quick)
    fresh = tmp_path / "b.toml"
    other.save(tmp_path / "b.sfm", overwrite=True)
    with pytest.raises(InvalidFile, match="is not the mechanism that"):
        sf.hide(source, spec=read_spec(fresh), output=tmp_path / "d.csv")


def test_files_of_a_spec_are_found_from_another_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "town.toml").write_text(ROADS)
    (here / "streets.csv").write_text("a,b,km\na,b,0.5\nb,c,0.6\n")
    (here / "crossings.csv").write_text("id,lat,lon\na,48.851,2.341\nb,48.855,2.345\nc,48.859,2.350\n")
    source = here / "trips.csv"
    source.write_text("id,lat,lon\n1,48.851,2.342\n2,48.855,2.3445\n")
    done = sf.hide(source, spec=read_spec(here / "town.toml"), output=there / "hidden.csv")
    assert 'file = "../here/streets.csv"' in done.files[3].read_text()
    assert "odds between two crossings that are by road 500 m apart" in done.promises[0]
    assert "the promise is about these crossings" in done.why and "cells" not in " ".join(done.promises)
    again = sf.hide(source, spec=read_spec(done.files[3]), output=there / "again.csv")
    assert again.mechanism.proof.digest == done.mechanism.proof.digest and "which the spec names" in again.why
    (here / "streets.csv").write_text("a,b,km\na,b,0.5\nb,c,0.7\n")  # another map, another question
    assert "which the spec names" not in sf.hide(source, spec=read_spec(done.files[3]), output=there / "c.csv").why
