"""Releases of coordinates by a mechanism whose promise is about points: policies, formats, keys, ledger, bridges."""

from __future__ import annotations

import json
import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import sfumato as sf
from box_tables import box_mechanism
from sfumato.certify.charge import about_coordinates
from sfumato.certify.protocol import ProvedMechanism, charge_of
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.numbers import exp_bounds
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Place, Position
from sfumato.release.points import output_points, points_of
from sfumato.release.rows import BadRow, TypedValues
from sfumato.release.sampler import sampler
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.spaces.box import box

F = Fraction
TOWN = box((4, 3), step=1, unit="km", origin=(F(1, 3), -1))
HIDE = box_mechanism(TOWN, outputs=6)
LINE = box_mechanism(box(2, step="1/2"), outputs=4)
XY = Position("x", "y")
KEY = bytes(range(32))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", "secret_never_changes": True}
FALSE_ALARM = 1e-9


def people(count: int = 500, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"id": np.arange(count), "x": rng.uniform(0.4, 4.3, count), "y": rng.uniform(-1, 2, count)})


def test_it_is_a_proved_mechanism_that_is_no_table() -> None:
    assert isinstance(HIDE, ProvedMechanism) and HIDE.secrets is None
    assert HIDE.domain.box is TOWN and HIDE.domain.dimension == 2 and HIDE.domain.unit == "km"
    assert HIDE.domain.coordinates is None and HIDE.domain.grid is None
    with pytest.raises(NotSupported, match=r"as a table.*density\(point\), the exact distribution at a coordinate"):
        HIDE.as_table()


# ----------------------------------------------------------------- the sampler


def test_points_are_arrays_of_numbers() -> None:
    draws, line = sampler(HIDE), sampler(LINE)
    assert repr(draws) == "Sampler(points, rounded to 6 × 5 lattice points → 6 outputs)"
    assert draws.draw([(1.0, 0.5), (2, -0.0)]).shape == (2,) and draws.draw(np.empty((0, 2))).shape == (0,)
    assert line.draw([0.5, 1]).shape == (2,) == line.draw([[0.5], [1.0]]).shape
    assert draws.draw(np.ones((70_000, 2), dtype=np.float32)).max() < 6
    for wrong in ([1.0, 2.0], [[1.0]], [["a", "b"]], [[True, False]], "xy", None, [(1.0, 2.0), (1.0,)]):
        with pytest.raises(InvalidInput, match="points are an array of numbers with 2 columns"):
            draws.draw(wrong)
    with pytest.raises(InvalidInput, match="points are an array of numbers, one row a point"):
        line.draw([[1.0, 2.0]])
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidInput, match="finite numbers: point 1 is"):
            draws.draw([(1, 1), (bad, 1)])


def test_keyed_draws_are_a_function_of_key_and_id() -> None:
    draws = sampler(HIDE)
    rng = np.random.default_rng(2)
    points, ids = rng.uniform(-1, 4, (1000, 2)), rng.integers(0, 256, (1000, 16), dtype=np.uint8)
    once = draws.draw_keyed(points, ids, KEY, secret_never_changes=True)
    order = rng.permutation(1000)
    assert (draws.draw_keyed(points[order], ids[order], KEY, secret_never_changes=True) == once[order]).all()
    assert (draws.draw_keyed(points, ids, bytes(32), secret_never_changes=True) != once).any()
    with pytest.raises(InvalidInput, match="ledger"):
        draws.draw_keyed(points, ids, KEY)
    with pytest.raises(InvalidInput, match="each row has an id: found 1000 rows and 999 ids"):
        draws.draw_keyed(points, ids[1:], KEY, secret_never_changes=True)


# ----------------------------------------------------------------- tables


@pytest.mark.parametrize("point", [(1.7, 0.2), (float(F(4, 3)), 1.0), (1e9, -1.0)])
def test_a_table_gets_the_density_of_its_points(point: tuple[float, float]) -> None:
    """Inside of a cell, on borders, and outside, where the nearest corner is taken."""
    rows = 30_000
    table = pa.table({"x": np.full(rows, point[0]), "y": np.full(rows, point[1])})
    made = HIDE.release(table, XY, on_unknown="nearest", most_moved=1)
    where = output_points(HIDE.outputs, TOWN)
    found = np.array([((made["x"].to_numpy() == x) & (made["y"].to_numpy() == y)).sum() for x, y in where])
    expected = rows * np.array([float(share) for share in HIDE.density(point).weights])
    assert found.sum() == rows and chi2.sf(((found - expected) ** 2 / expected).sum(), 5) > FALSE_ALARM


def test_columns_hold_the_doubles_nearest_to_outputs() -> None:
    made = HIDE.release(people(), XY)
    assert made.column_names == ["id", "x", "y"] and made["id"].equals(people()["id"])
    exact = {tuple(float(part) for part in y) for y in HIDE.outputs}
    assert set(zip(made["x"].to_pylist(), made["y"].to_pylist(), strict=True)) <= exact
    beside = HIDE.release(people(), XY, into="told", keep=True)
    assert beside.column_names == ["id", "x", "y", "told"] and {tuple(y) for y in beside["told"].to_pylist()} <= exact
    line = LINE.release(pa.table({"t": [0.1, 1.9]}), "t", into="told")
    assert line.column_names == ["told"] and set(line["told"].to_pylist()) <= {float(y) for y in LINE.outputs}


def test_a_column_of_an_interval_is_named_by_a_text() -> None:
    table = pa.table({"id": [1, 2], "t": [0.1, 1.9]})
    named = [LINE.release(table, column, **KEYED)["t"].to_pylist() for column in ("t", Position("t"))]
    assert named[0] == named[1]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [("x", "has 2 coordinates, found the column 'x': name them all"), (Position("x", "y", "id"), "has 2 coordinates")],
)
def test_columns_that_are_no_points(column: Any, complaint: str) -> None:
    with pytest.raises(Mismatch, match=complaint):
        HIDE.release(people(), column)


def test_what_a_box_has_no_use_for() -> None:
    with pytest.raises(NotSupported, match=r"latitudes and longitudes on box\(4 × 3, eucl.*Position\('x', 'y'\)"):
        HIDE.release(people(), Place("y", "x"))
    with pytest.raises(InvalidInput, match="'nearest'"):
        HIDE.release(people(), XY, within=3)


# ----------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("x", "complaint"),
    [
        ([1.0, None], r"row 2: 'x' is missing"),
        ([1.0, np.nan], r"row 2: 'x' is nan, which is no finite number"),
        ([1.0, np.inf], r"row 2: 'x' is inf, which is no finite number"),
    ],
)
@pytest.mark.parametrize("on_unknown", ["error", "nearest"])
def test_what_is_no_number_is_refused_with_its_row(x: list[Any], complaint: str, on_unknown: str) -> None:
    table = pa.table({"x": pa.array(x, from_pandas=False), "y": [0.0, 0.0]})
    with pytest.raises(BadRow, match=complaint):
        HIDE.release(table, XY, on_unknown=on_unknown, **({"most_moved": 1} if on_unknown == "nearest" else {}))
    left = HIDE.release(table, XY, on_unknown="drop", most_dropped=1)
    assert len(left) == 1


@pytest.mark.parametrize("on_unknown", ["error", "nearest", "drop"])
def test_a_column_of_texts_is_refused_and_nothing_is_left_out(on_unknown: str) -> None:
    """No row of it has a coordinate: under "drop" the whole table would be gone."""
    texts = pa.array([None, "1.0", "2"])
    for column in (texts, texts.dictionary_encode(), texts.cast(pa.large_string())):
        table = pa.table({"x": column, "y": [0.0, 0.0, 0.0]})
        with pytest.raises(BadRow, match=r"row 2: 'x' is the text '1.0': make it a column of numbers first"):
            HIDE.release(table, XY, on_unknown=on_unknown)
    empty = pa.table({"x": pa.array([None, None], pa.string()), "y": [0.0, 0.0]})
    assert len(HIDE.release(empty, XY, on_unknown="drop", most_dropped=1)) == 0


def test_points_outside_are_refused_moved_or_left_out() -> None:
    beyond = np.nextafter(13 / 3, 5)  # 13/3 is no double: the box ends between two of them
    inside = np.nextafter(beyond, 0) if beyond > F(13, 3) else beyond
    assert F(float(inside)) <= F(13, 3) < F(float(np.nextafter(inside, 5)))
    table = pa.table({"x": [1.0, float(np.nextafter(inside, 5)), 0.0], "y": [2.0, 0.0, -1.0]})
    with pytest.raises(BadRow, match=r"row 2: 'x', 'y' are \(4.33\d+, 0.0\), outside of box.* \[0.333333, 4.33333\]"):
        HIDE.release(table, XY)
    assert len(HIDE.release(table, XY, on_unknown="drop", most_dropped=1)) == 1
    told = []
    HIDE.release(table, XY, on_unknown="nearest", most_moved="2/3", progress=told.append)
    assert told[-1].moved == 2
    with pytest.raises(InvalidInput, match=r"2 of 3 rows lie outside the space .* by up to 0.333334 km"):
        HIDE.release(table, XY, on_unknown="nearest")


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (None, "'x' is missing"),
        (np.nan, "'x' is nan, which is no finite number"),
        (9.0, r"are \(9.0, 0.0\), outside of"),
    ],
)
def test_a_table_is_not_emptied_of_more_than_a_share(wrong: Any, cause: str) -> None:
    def people(bad: int) -> pa.Table:
        x = [*[1.0] * (20 - bad), *[wrong] * bad]
        return pa.table({"x": pa.array(x, from_pandas=False), "y": [0.0] * 20})

    assert len(HIDE.release(people(1), XY, on_unknown="drop")) == 19
    refused = rf"^2 of 20 rows would be left out.* of 1/20 that is .* row 19: .*{cause}.*; most_dropped=1 leaves them"
    with pytest.raises(InvalidInput, match=refused) as told:
        HIDE.release(people(2), XY, on_unknown="drop")
    assert "on_unknown" not in str(told.value)  # which is what was said already
    assert len(HIDE.release(people(2), XY, on_unknown="drop", most_dropped="0.1")) == 18
    with pytest.raises(InvalidInput, match="goes with on_unknown='drop'"):
        HIDE.release(people(2), XY, most_dropped=1)
    with pytest.raises(InvalidInput, match="most_dropped is a share of the rows, between 0 and 1"):
        HIDE.release(people(2), XY, on_unknown="drop", most_dropped=2)


def test_what_lies_beyond_an_end_is_that_end_and_zero_has_one_sign() -> None:
    finder = points_of(XY, TOWN, on_unknown="nearest")
    columns = [TypedValues(pa.array(c)) for c in ([1e308, 5.0, 1.0, 1.0], [-7.0, -1.0, 0.0, -0.0])]
    rows, moved = finder.locate(columns, 0)[:2]
    marks = finder.marks(rows)
    assert marks[0] == marks[1] != marks[2] == marks[3] and len(moved) == 2
    assert HIDE.density(rows[0]).weights.tolist() == HIDE.density((9, -9)).weights.tolist()


@pytest.mark.parametrize(("metric", "far"), [("euclidean", 5.0), ("manhattan", 7.0), ("chebyshev", 4.0)])
def test_how_far_points_were_moved_is_told_in_the_norm_of_the_box(metric: Any, far: float) -> None:
    finder = points_of(XY, box((1, 1), step=1, metric=metric), on_unknown="nearest")
    located = finder.locate([TypedValues(pa.array([4.0])), TypedValues(pa.array([5.0]))], 0)
    assert located.moved.tolist() == [far]


# ----------------------------------------------------------------- files and libraries


def test_keyed_noise_is_the_same_in_every_library_and_format(tmp_path: Path) -> None:
    table = people()
    here = HIDE.release(table, XY, **KEYED)
    expected = here["x"].to_pylist(), here["y"].to_pylist()

    def same(made: Any) -> bool:
        return (list(made["x"]), list(made["y"])) == expected

    pandas = table.to_pandas()
    assert same(HIDE.release(pandas, XY, **KEYED)) and same(HIDE.release(pl.from_arrow(table), XY, **KEYED))
    shuffled = HIDE.release(pandas.sample(frac=1, random_state=1), XY, **KEYED).sort_values("id")
    assert same(shuffled)
    pandas.to_csv(tmp_path / "in.csv", index=False)
    pandas.to_json(tmp_path / "in.jsonl", orient="records", lines=True, double_precision=15)
    pq.write_table(table, tmp_path / "in.parquet")
    pa.feather.write_feather(table, tmp_path / "in.arrow")
    for ending in ("csv", "parquet", "arrow"):
        done = release_file(HIDE, tmp_path / f"in.{ending}", tmp_path / f"out.{ending}", XY, batch=100, **KEYED)
        assert done.rows == 500 and not done.note
    assert same(pd.read_csv(tmp_path / "out.csv"))
    assert same(pq.read_table(tmp_path / "out.parquet").to_pandas())
    assert same(pa.feather.read_table(tmp_path / "out.arrow").to_pandas())
    # JSON is written with fewer digits by pandas: what is read is what counts
    release_file(HIDE, tmp_path / "in.jsonl", tmp_path / "out.jsonl", XY, **KEYED)
    read = [json.loads(line) for line in (tmp_path / "in.jsonl").read_text().splitlines()]
    told = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    again = HIDE.release(pd.DataFrame(read), XY, **KEYED)
    assert [(row["x"], row["y"]) for row in told] == list(zip(again["x"], again["y"], strict=True))


def test_bad_cells_of_text_are_refused_with_their_row(tmp_path: Path) -> None:
    for cell, what in (("", "missing"), ("nan", "'nan', which is no"), ("1,5", ""), ("east", "'east', which is no")):
        (tmp_path / "in.csv").write_text(f"x;y\n1.5;0\n{cell};0\n")
        with pytest.raises(BadRow, match=f"row 2: 'x' is {what}"):
            release_file(HIDE, tmp_path / "in.csv", tmp_path / "out.csv", XY)
    assert not (tmp_path / "out.csv").exists()


def test_one_id_has_one_point() -> None:
    table = pa.table({"id": [7, 7], "x": [1.0, 1.0], "y": [0.5, 0.5]})
    assert len(HIDE.release(table, XY, **KEYED)) == 2
    changed = pa.table({"id": [7, 7], "x": [1.0, float(np.nextafter(1, 2))], "y": [0.5, 0.5]})
    with pytest.raises(InvalidInput, match="rows 1 and 2 have one row id and two secrets"):
        HIDE.release(changed, XY, **KEYED)
    with pytest.raises(InvalidInput, match="with a key and no ledger"):
        HIDE.release(table, XY, key=KEY, row_id="id")


# ----------------------------------------------------------------- cells and coordinates


def test_snapping_says_once_that_its_promise_is_about_cells(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = sf.exponential(sf.PrivacyType(sf.grid(5, 5, unit="km"), epsilon=1))
    places = sf.exponential(sf.PrivacyType(sf.geo([(0, 0), (1, 1)]), epsilon=1))
    table = pa.table({"x": [1.2], "y": [0.4]})
    with caplog.at_level(logging.INFO, logger="sfumato.release"):
        grid.release(table, XY)
        assert "the promise is about the secrets of grid(5, 5, euclidean), not about every metre" in caplog.text
        assert "design on a box" in caplog.text and len(caplog.records) == 1
        places.release(table, Place("y", "x"), within="200 km")
        assert len(caplog.records) == 2
        HIDE.release(table, XY)
        sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")).release(pa.table({"n": [1]}), "n")
        assert len(caplog.records) == 2
    (tmp_path / "in.csv").write_text("x,y\n1.2,0.4\n")
    assert "not about every metre" in release_file(grid, tmp_path / "in.csv", tmp_path / "out.csv", XY).note


def test_what_follows_a_release_for_coordinates_keeps_its_promise_about_every_metre(tmp_path: Path) -> None:
    """Told as the nearest of a list of places, too: two metres apart are two metres, and not two cells."""
    (tmp_path / "in.csv").write_text("x,y\n1.2,0.4\n")
    assert release_file(HIDE, tmp_path / "in.csv", tmp_path / "out.csv", XY).note == ""  # no word of cells
    assert charge_of(HIDE).space == "coordinates, euclidean" and about_coordinates(charge_of(HIDE).metric, "km")
    assert "all points of" in str(HIDE.proof)
    places = [(F(1, 3) + F(i), F(j, 2)) for i in range(4) for j in range(-2, 4)]

    def told(point: tuple[Fraction, Fraction]) -> list[Fraction]:
        row = HIDE.density(point)
        chances = [F(0)] * len(places)
        for y, weight in zip(HIDE.outputs, row.weights, strict=True):
            apart = [(y[0] - a) ** 2 + (y[1] - b) ** 2 for a, b in places]
            chances[apart.index(min(apart))] += F(weight)
        return chances

    border, metre = F(4, 3), F(1, 1000)
    factor = exp_bounds(HIDE.rate * 2 * metre)[1]
    here, there = told((border - metre, F(1, 2))), told((border + metre, F(1, 2)))
    assert sum(chance > 0 for chance in here) > 1
    assert all(a <= factor * b and b <= factor * a for a, b in zip(here, there, strict=True))
    grid = sf.exponential(sf.PrivacyType(sf.grid(4, 3, unit="km"), epsilon=1))
    assert "not about every metre" in release_file(grid, tmp_path / "in.csv", tmp_path / "cells.csv", XY).note


def test_a_ledger_adds_up_promises_about_coordinates_whatever_their_box(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.ledger")
    other = box_mechanism(box((9, 9), step=3, unit="km"), outputs=6)
    for mechanism in (HIDE, other, sampler(HIDE)):
        ledger.charge(dataset="people", column="x, y", mechanism=mechanism)
    spent = ledger.spent("people", "x, y").total
    assert spent.bounds(64)[0] == 2 * HIDE.rate + other.rate
    rate = 2 * HIDE.rate + other.rate
    low, high = ledger.spent("people", "x, y").between((1, 1), (2, "0.5"), TOWN)
    assert low < high and low**2 <= rate**2 * F(5, 4) <= high**2 and high - low < F(1, 2**60)
    assert ledger.spent("people", "x, y").between((1, 1), (4, 5), box((1, 1), step=1, unit="km"))[0] == 5 * rate
    with pytest.raises(InvalidInput, match="coordinates, euclidean is among what was released: give that space too"):
        ledger.spent("people", "x, y").between((1, 1), (2, 1), sf.grid(4, 4, unit="km"))
    charge = charge_of(HIDE)
    assert charge.space == "coordinates, euclidean" and charge.unit == "km" and charge.delta is None
    assert about_coordinates(charge.metric, "km") and not about_coordinates(charge.metric, "m")
    assert charge.noise != charge_of(other).noise and charge.metric == charge_of(other).metric
    # on a line all norms are one; in the plane they are not
    lines = [charge_of(box_mechanism(box(2, step=1, metric=m))).metric for m in ("euclidean", "manhattan", "chebyshev")]
    assert len(set(lines)) == 1
    steps = box_mechanism(box((4, 3), step=1, unit="km", metric="manhattan"))
    with pytest.raises(Mismatch, match="has the metric of coordinates, euclidean in km"):
        ledger.charge(dataset="people", column="x, y", mechanism=steps)


@pytest.mark.parametrize("column", ["x, y", "x", "y, z"])
def test_a_ledger_does_not_add_cells_to_coordinates(tmp_path: Path, column: str) -> None:
    cells = sf.exponential(sf.PrivacyType(sf.grid(4, 3, unit="km"), epsilon=1))
    for number, (first, second) in enumerate([(cells, HIDE), (HIDE, cells)]):
        ledger = Ledger(tmp_path / f"{number}.ledger")
        ledger.charge(dataset="people", column="x, y", mechanism=first)
        before = "the secrets of grid" if number == 0 else "coordinates"
        with pytest.raises(Mismatch, match=f"has a promise about {before}.* since entry 1.*two sides of a border"):
            ledger.charge(dataset="people", column=column, mechanism=second)
        assert len(ledger.entries()) == 1
        ledger.charge(dataset="other people", column=column, mechanism=second)


def test_a_keyed_release_is_charged_once_and_a_moved_point_is_noticed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.ledger")
    terms: dict[str, Any] = {"key": KEY, "row_id": "id", "ledger": ledger, "dataset": "people"}
    once = release_table(HIDE, people(), XY, **terms)
    again = release_table(HIDE, people().to_pandas(), XY, **terms)
    assert list(again["x"]) == once["x"].to_pylist() and [e.charged for e in ledger.entries()] == [1, 0]
    moved = people().to_pandas()
    moved.loc[3, "x"] = np.nextafter(moved.loc[3, "x"], 9)
    with pytest.raises(InvalidInput, match="this key was used for column 'x, y' of other data"):
        release_table(HIDE, moved, XY, **terms)
