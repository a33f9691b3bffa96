"""A key without a ledger needs the statement that the secret of an id never changes; and keys are shown nowhere."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
import sfumato.cli
import sfumato.release
import sfumato.studio
from sfumato.errors import InvalidInput
from sfumato.release.batches import batch_release
from sfumato.release.engines.job import Job
from sfumato.release.keys import check_statement, key_bytes
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.sampler import sampler
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.release.terms import Terms

KEY = bytes(range(32))
WEAK = sf.random_response(sf.PrivacyType(sf.discrete(4), epsilon="1/10"))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id"}


def days(rows: int = 2000) -> tuple[pa.Table, pa.Table, np.ndarray[Any, Any]]:
    """A table, the same on another day, and who has moved meanwhile."""
    rng = np.random.default_rng(2)
    home, moved = rng.integers(0, 4, rows), rng.random(rows) < 0.2
    later = np.where(moved, (home + 1) % 4, home)
    return pa.table({"id": range(rows), "home": home}), pa.table({"id": range(rows), "home": later}), moved


def test_two_days_under_one_key_tell_who_has_moved() -> None:
    """Why it is refused: at ε = 1/10, an answer that changes is a secret that changed, for certain."""
    first, second, moved = days()
    one, two = (
        release_table(WEAK, day, "home", **KEYED, secret_never_changes=True)["home"].to_numpy()
        for day in (first, second)
    )
    changed = one != two
    assert changed.sum() > 10 and moved[changed].all()  # with fresh noise three quarters of all answers change


def test_a_ledger_refuses_the_second_day(tmp_path: Path) -> None:
    first, second, _ = days()
    ledger = Ledger(tmp_path / "x.ledger", limit=1)
    for day, charged in ((first, 1), (first.take(np.arange(1999, -1, -1)), 0)):
        release_table(WEAK, day, "home", **KEYED, ledger=ledger, dataset="people")
        assert ledger.entries()[-1].charged == charged
    changed = [second, first.slice(0, 1999), pa.concat_tables([first, first.slice(0, 1)])]
    for day in changed:
        with pytest.raises(
            InvalidInput, match=r"this key was used for column 'home' of other data \(entry 1\): a row with"
        ):
            release_table(WEAK, day, "home", **KEYED, ledger=ledger, dataset="people")
    with pytest.raises(InvalidInput, match="this key was used for column 'home' of dataset 'people'"):
        release_table(WEAK, second, "home", **KEYED, ledger=ledger, dataset="people, later")
    (tmp_path / "in.csv").write_text("id,home\n1,3\n")
    with pytest.raises(InvalidInput, match="of other data"):
        release_file(WEAK, tmp_path / "in.csv", tmp_path / "out.csv", "home", **KEYED, ledger=ledger, dataset="people")
    assert len(ledger.entries()) == 2 and not (tmp_path / "out.csv").exists()
    release_table(
        WEAK, second, "home", key=bytes(32), row_id="id", ledger=ledger, dataset="people"
    )  # a new key, a new charge
    assert [entry.charged for entry in ledger.entries()] == [1, 0, 1]


def test_the_statement_is_asked_for_and_nothing_else_is() -> None:
    with pytest.raises(InvalidInput, match=r"an answer that changes cannot be private; give ledger= and dataset="):
        check_statement(False, keyed=True)
    with pytest.raises(InvalidInput, match="said of noise with a key"):
        check_statement(True, keyed=False)
    for odd in (1, "no", None):
        with pytest.raises(InvalidInput, match="secret_never_changes is True or False"):
            check_statement(odd, keyed=True)
    check_statement(True, keyed=True)
    check_statement(False, keyed=True, ledger=True)
    check_statement(False, keyed=False)


def test_draws_from_a_sampler_ask_for_it_too() -> None:
    ids = np.zeros((1, 16), dtype=np.uint8)
    with pytest.raises(InvalidInput, match="secret_never_changes=True"):
        sampler(WEAK).draw_keyed([0], ids, KEY)
    assert sampler(WEAK).draw_keyed([0], ids, KEY, secret_never_changes=True).shape == (1,)


# ----------------------------------------------------------------- everywhere


def members(*packages: Any) -> Iterator[tuple[str, Any]]:
    """Functions, methods and classes of some packages."""
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = import_module(found.name)
            for name, value in vars(module).items():
                if getattr(value, "__module__", None) == module.__name__:
                    yield f"{module.__name__}.{name}", value
                    if inspect.isclass(value):
                        yield from (
                            (f"{module.__name__}.{name}.{part}", member) for part, member in vars(value).items()
                        )


NO_NOISE = {"Fingerprint", "KeyedBits", "BatchRelease", "Job", "Entry", "Ledger", "charge_fields", "check_statement",
            "checked_key", "key_bytes"}  # fmt: skip
"""What takes a key and draws for nobody by itself: digests and bits of it, values that checked terms are put into, the
ledger that is the alternative."""


def test_every_door_that_takes_a_key_takes_the_statement() -> None:
    doors = set()
    for name, value in members(sfumato.release, sfumato.cli):
        names = name.split(".")
        if not inspect.isfunction(value) or any(part.startswith("_") and part != "__init__" for part in names):
            continue
        terms = inspect.signature(value).parameters.keys()
        in_shell = "cli" in names  # where a key of something else has no row beside it
        if "key" in terms and (not in_shell or "row_id" in terms) and NO_NOISE.isdisjoint(names):
            assert "secret_never_changes" in terms, name
            doors.add(names[-1])
    tables = {"release", "release_table", "release_file", "release_dask", "release_spark"}
    assert doors == {*tables, "draw_keyed", "__init__"}


# ----------------------------------------------------------------- keys are not shown


def test_keys_are_in_no_repr() -> None:
    work = batch_release(WEAK, Terms("home", **KEYED, secret_never_changes=True))
    sent = Job("name", WEAK, work.terms)
    for shown in (work, sent, sent.work(), work.fingerprint, work.changes, work.sampler):
        assert repr(KEY)[2:-1] not in repr(shown) and KEY.hex() not in repr(shown)
    holders = {name for name, value in members(sfumato.release, sfumato.studio) if inspect.isclass(value)
               and is_dataclass(value) for field in fields(value) if field.name == "key" and field.repr}  # fmt: skip
    assert holders == {"sfumato.release.ledger.values.Entry"}  # which keeps a fingerprint


@pytest.mark.parametrize("digits", [KEY.hex(), KEY.hex().upper(), f"{KEY.hex()}\n"])
def test_digits_in_place_of_a_file_are_not_repeated(digits: str) -> None:
    with pytest.raises(InvalidInput, match="not by its digits") as caught:
        key_bytes(digits)
    assert digits.strip() not in str(caught.value)
