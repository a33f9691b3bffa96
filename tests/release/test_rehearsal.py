"""A release before there is a mechanism refuses what the real one refuses, tells nothing and writes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput
from sfumato.release.places import Place
from sfumato.release.rehearsal import rehearse_file, rehearse_table
from sfumato.release.terms import Terms
from table_files import FORMATS

TOWN = sf.spaces.earth_box(48.8, 2.2, sides=(10, 10), step=5)
DOMAIN = Domain.of(TOWN)
PLACE = Place("lat", "lon")
ROWS = 70_000


def many(last: float | None = 48.85) -> pa.Table:
    return pa.table({"lat": [*np.full(ROWS - 1, 48.85).tolist(), last], "lon": np.full(ROWS, 2.25)})


@pytest.mark.parametrize("ending", FORMATS)
def test_the_first_rows_or_all_of_them(ending: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    FORMATS[ending][0](many(None), source)
    terms = Terms(PLACE, on_unknown="nearest")
    assert 0 < rehearse_file(source, target, DOMAIN, terms).rows < ROWS
    with pytest.raises(InvalidInput, match=r"row 70000|key is missing"):
        rehearse_file(source, target, DOMAIN, terms, whole=True)
    assert not target.exists()


def test_tables_and_accounts(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger")
    terms = Terms(PLACE, on_unknown="nearest", ledger=ledger, dataset="d")
    assert rehearse_table(many(), DOMAIN, terms, whole=True).rows == ROWS
    assert rehearse_table(many(None), DOMAIN, terms).rows < ROWS
    with pytest.raises(InvalidInput, match="row 70000"):
        rehearse_table(many(None), DOMAIN, terms, whole=True)
    places = sf.spaces.geo([(48.85, 2.25), (48.86, 2.26)])
    assert rehearse_table(many(), Domain.of(places), terms, whole=True).rows == ROWS
    assert not ledger.entries()
