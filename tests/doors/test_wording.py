"""What a message says is right where it is read: keywords in Python, options in the shell, keys on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.commands import COMMANDS, shell_wording
from sfumato.cli.main import app
from sfumato.errors import Wording, advice, counted, keyword, speaking
from sfumato.release.places import Place, Position
from sfumato.specs.words import promised
from sfumato.studio.jobs import PAGE


def release_wording() -> Wording:
    return shell_wording(COMMANDS["release"].load("release").params)


@pytest.mark.parametrize(
    ("name", "value", "python", "shell", "page"),
    [
        ("on_unknown", "drop", "on_unknown='drop'", "--on-unknown drop", ""),
        ("key", None, "key=", "--key-file", ""),
        ("secret_never_changes", True, "secret_never_changes=True", "--secret-never-changes", ""),
        ("most_moved", 1, "most_moved=1", "--most-moved 1", ""),
        ("solver", "exact", "solver='exact'", 'solver = "exact"', "solver exact"),
        ("alpha", None, "alpha=", "alpha", "alpha"),
    ],
)
def test_arguments_are_spelled_as_they_are_given(name: str, value: object, python: str, shell: str, page: str) -> None:
    assert keyword(name, value) == python
    with speaking(release_wording()):
        assert keyword(name, value) == shell
    with speaking(PAGE):
        assert keyword(name, value) == page
    assert keyword(name, value) == python


def test_functions_are_commands_in_the_shell_and_nothing_where_there_is_none() -> None:
    offers = ("channels.normalise", "divides rows by their sums"), ("repair", "also makes them private")
    assert advice(*offers) == "; channels.normalise() divides rows by their sums, repair() also makes them private"
    with speaking(release_wording()):
        assert advice(*offers) == "; `sfumato audit --repair` also makes them private"
        assert advice(offers[0]) == ""


def test_the_wording_returns_when_a_command_fails() -> None:
    with pytest.raises(sf.errors.SfumatoError):
        CliRunner().invoke(app, ["capacity", "nowhere:3"], catch_exceptions=False)
    assert keyword("epsilon") == "epsilon="


def test_one_message_at_both_doors(tmp_path: Path) -> None:
    """The same mistake, in Python and in the shell."""
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    mechanism = sf.prove([[4, 1, 1], [2, 2, 2], [1, 1, 4]], privacy)
    sf.save(mechanism, tmp_path / "m.sfm")
    (tmp_path / "in.csv").write_text("home\n7\n")
    with pytest.raises(sf.errors.InvalidInput, match="on_unknown='drop' leaves such rows out"):
        sf.release_file(mechanism, tmp_path / "in.csv", tmp_path / "out.csv", "home")
    files = [str(tmp_path / name) for name in ("m.sfm", "in.csv", "out.csv")]
    done = CliRunner().invoke(app, ["release", *files, "--column", "home"])
    assert "--on-unknown drop leaves such rows out" in str(done.exception)


def test_one_is_not_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_columns_of_coordinates_are_named_at_both_doors(tmp_path: Path) -> None:
    """Calls of Python are options in the shell: no message of a release there speaks of Position or Place."""
    flat, earth = sf.box((2, 2), step=1), sf.spaces.earth_box("48 N", "2 E", sides=(2, 2), step=1)
    noise = sf.mechanisms.laplace_noise
    (tmp_path / "in.csv").write_text("a,b\n1,1\n")
    files = [str(tmp_path / name) for name in ("m.sfm", "in.csv", "out.csv")]
    for space, given, options, python, shell in (
        (flat, "a", ["--column", "a"], r"name them all, Position\('x', 'y'\)", "name them all, --x and --y"),
        (flat, Place("a", "b"), ["--lat", "a", "--lon", "b"], r"Position\('x', 'y'\) with.*by sf\.spaces\.earth_box",
         '--x and --y with coordinates of the box and a box on the Earth, by kind = "earth_box" in the spec'),
        (earth, Position("a", "b"), ["--x", "a", "--y", "b"], r"longitude, Place\('lat', 'lon'\)",
         "longitude, --lat and --lon"),
    ):  # fmt: skip
        mechanism = noise(sf.PrivacyType(space, epsilon=1), parts=1)
        sf.save(mechanism, files[0], overwrite=True)
        with pytest.raises(sf.errors.SfumatoError, match=python):
            sf.release_file(mechanism, *files[1:], given)
        told = str(CliRunner().invoke(app, ["release", *files, *options]).exception)
        assert shell in told and not any(word in told for word in ("Position(", "Place(", "sf."))


def test_numbers_are_those_that_people_read() -> None:
    """No factors that nobody pictures."""
    grid = promised(sf.PrivacyType(sf.grid(5, 5, unit="km"), epsilon=3))
    assert "at 1 km, no output is more than 20.09 times" in grid and "none is more than 10⁸ times at 5.657 km" in grid
    assert "no output is more than 10⁹ times" in promised(sf.PrivacyType(sf.box((2, 2), step=1), epsilon="20.5"))
