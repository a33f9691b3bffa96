"""Mechanisms for coordinates before the kernel: what is proved holds for all points, and what is false is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import isqrt, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.bundle import kernel_file
from sfumato.certify.coordinates import prove_on_box
from sfumato.certify.file import to_bytes
from sfumato.errors import InvalidChannel, InvalidFile, InvalidInput, Mismatch, PrivacyViolation
from sfumato.spaces.box import Box, box
from sfumato.spaces.splines import Rounding, bernstein_rows, rounding_of

UNIT = box((1,), step="1/2", unit="km")
SLOPE = [[3, 1], [2, 2], [2, 2], [1, 3]]
DUAL = {"euclidean": 2, "manhattan": np.inf, "chebyshev": 1}
PRIMAL = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}


def proved(**changed: Any) -> Any:
    given = {"weights": SLOPE, "privacy": sf.PrivacyType(UNIT, epsilon=2), "rounding": rounding_of(UNIT)}
    return prove_on_box(**given | {"outputs": [0, 1]} | changed)


def steepest(weights: np.ndarray, rounding: Rounding, halvings: int) -> Fraction:
    """The least rate that all coefficients keep, up to a part in 2^60, from the rows of the rounding itself."""
    axes = [bernstein_rows(axis, halvings) for axis in rounding.axes]
    worst = Fraction(0)
    for place in product(*(range(len(values)) for values, _ in axes)):
        for column in weights.T.tolist():
            forms = [[axes[k][int(k == i)][c] for k, c in enumerate(place)] for i in range(-1, len(axes))]
            value, *slopes = (_form(form, column, rounding.shape) for form in forms)
            if rounding.box.metric == "euclidean":
                scale = 2**140
                square = sum((s * s for s in slopes), Fraction(0))
                size = Fraction(isqrt(int(square * scale)) + 1, isqrt(scale)) if square else Fraction(0)
            else:
                size = (max if rounding.box.metric == "manhattan" else sum)(map(abs, slopes))
            if size:
                worst = max(worst, size / value)
    return worst


def _form(rows: list[dict[int, Fraction]], column: list[int], shape: tuple[int, ...]) -> Fraction:
    total = Fraction(0)
    for chosen in product(*(row.items() for row in rows)):
        number, share = 0, Fraction(1)
        for (v, weight), side in zip(chosen, shape, strict=True):
            number, share = number * side + v, share * weight
        total += share * column[number]
    return total


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, Rounding, int]:
    """Positive weights on a small lattice, uniform or not, with equal sums of rows."""
    axes = draw(st.integers(1, 2))
    metric = draw(st.sampled_from(sorted(DUAL)))
    where = box((2,) * axes, step=1, metric=metric, origin=(-1,) * axes)
    cuts = st.lists(st.integers(1, 15), min_size=1, max_size=2 if axes == 2 else 5, unique=True)
    breaks = [[0, *(Fraction(c, 8) for c in sorted(draw(cuts))), 2] for _ in range(axes)]
    rounding = rounding_of(where, degree=draw(st.integers(1, 2)), breaks=breaks)
    rows = draw(st.lists(st.integers(1, 30), min_size=len(rounding), max_size=len(rounding)))
    return np.array([[a, 31 - a] for a in rows]), rounding, draw(st.integers(0, 2))


@given(tables(), st.integers(0, 2**32 - 1))
def test_what_the_kernel_proves_holds_for_all_points(table: Any, seed: int) -> None:
    weights, rounding, halvings = table
    where: Box = rounding.box
    rate = steepest(weights, rounding, halvings)
    if not rate:
        return
    outputs = [0, 1] if where.dimension == 1 else [(0, 0), (1, 1)]
    made = prove_on_box(weights, sf.PrivacyType(where, epsilon=rate), rounding, outputs, halvings=halvings)
    with pytest.raises(PrivacyViolation, match="becomes likelier"):
        prove_on_box(weights, sf.PrivacyType(where, epsilon=rate * Fraction(10**9 - 1, 10**9)), rounding,
                     made.outputs, halvings=halvings)  # fmt: skip
    random = np.random.default_rng(seed)
    for _ in range(5):
        start = random.integers(-64, 65, where.dimension)
        stop = random.integers(-64, 65, where.dimension)
        if random.random() < 0.5:  # neighbours
            stop = np.clip(start + random.integers(-1, 2, where.dimension), -64, 64)
        points = [tuple(Fraction(int(c), 64) for c in point) for point in (start, stop)]
        apart = np.linalg.norm([float(a - b) for a, b in zip(*points, strict=True)], ord=PRIMAL[where.metric])
        for a, b in zip(*(made.density(point).weights for point in points), strict=True):
            assert abs(log(a / b)) <= float(rate) * apart * (1 + 1e-12) + 1e-14  # floats of this test


def test_a_file_about_coordinates_comes_back_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = box((1, "2/3"), step=("1/2", "1/3"), metric="chebyshev", unit="km", origin=("-1/7", 5))
    rounding = rounding_of(where, degree=1)
    weights = np.array([[k + 9, 2**70 - k - 9] for k in range(len(rounding))], dtype=object)
    outputs = [(Fraction(1, 3), 0.5), (1, 2)]
    made = prove_on_box(weights, sf.PrivacyType(where, alpha="1/9"), rounding, outputs, halvings=2,
                        provenance={"made": "by hand"})  # fmt: skip
    path = tmp_path / "m.sfm"
    assert sf.save(made, path) == made.proof.digest
    again = sf.load(path)
    assert (again.box, again.rounding, again.outputs) == (made.box, made.rounding, tuple(outputs))
    assert (again.rate, again.halvings, again.total, again.provenance) == (made.rate, 2, 2**70, {"made": "by hand"})
    assert (again.weights == made.weights).all() and again.proof == made.proof
    assert sf.verify(again).witness.digest == made.proof.digest
    assert made.rate < made.privacy.rate_bounds(200)[0] < made.rate + Fraction(1, 2**55)
    assert made.density((0, 5)).weights.sum() == 1
    assert kernel.main([str(path)]) == 0
    said = capsys.readouterr().out
    assert "PROVED private for all points of the box, with alpha = 1/9 per 'km'" in said
    assert "which is less" in said
    alone = subprocess.run([sys.executable, "-I", "-S", str(kernel_file()), str(path)], capture_output=True, text=True)
    assert alone.returncode == 0 and alone.stdout == said


def test_a_violation_names_the_cell_and_the_output() -> None:
    written = proved().as_certificate()
    written.header["promise"]["rate"] = "1"
    witness = sf.verify(written).witness
    assert (
        str(witness)
        == "output 0 becomes likelier at a rate of 1.33333 in the cell from (1/2) to (1), more than the 1 allowed"
    )
    with pytest.raises(PrivacyViolation, match=r"in the cell from \(1/2\) to \(1\), at most 1 is allowed") as caught:
        proved(privacy=sf.PrivacyType(UNIT, epsilon=1))
    assert (caught.value.output, caught.value.ratio) == (0, Fraction(4, 3))
    with pytest.raises(PrivacyViolation, match="from zero"):
        proved(weights=[[0, 4], [0, 4], [0, 4], [1, 3]], privacy=sf.PrivacyType(UNIT, epsilon=100))


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"weights": SLOPE[:3]}, InvalidChannel, "4 rows"),
        ({"weights": [[0.5, 0.5]] * 4}, InvalidChannel, "integers"),
        ({"weights": [[-1, 5]] * 4}, InvalidChannel, "non-negative"),
        ({"weights": [[3, 1], [2, 2], [2, 2], [1, 4]]}, InvalidChannel, "sum to"),
        ({"outputs": [0]}, InvalidChannel, "2 columns for 1 outputs"),
        ({"outputs": [0, 0.0]}, InvalidInput, "one name"),
        ({"outputs": [0, "north"]}, InvalidInput, "north"),
        ({"outputs": [0, (0, 1)]}, InvalidInput, "coordinates"),
        ({"rate": 3}, InvalidInput, "rate"),
        ({"rate": 0}, InvalidInput, "rate"),
        ({"halvings": 5}, InvalidInput, "halvings"),
        ({"rounding": rounding_of(box((1,), step="1/4"))}, Mismatch, "lattice"),
        ({"privacy": sf.PrivacyType(sf.line(2), epsilon=1)}, InvalidInput, "box"),
    ],
)
def test_what_is_no_mechanism_on_the_box_is_refused(changed: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        proved(**changed)


BOX = {"sides": ["1"], "cells": [2], "metric": "euclidean", "origin": ["0"], "frame": None}
LATTICE = {"degree": 2, "halvings": 1, "breaks": [["0", "1/2", "1"]]}
CHANGES: dict[str, tuple[Any, str]] = {
    "an unknown word": ({"secrets": [1]}, "'secrets'"),
    "a promise about rows": ({"promise": {"kind": "rows", "epsilon": "2"}}, "a box has a promise about coordinates"),
    "a promise without a rate": ({"promise": {"kind": "coordinates", "epsilon": "2"}}, "rate"),
    "a rate above epsilon": ({"promise": {"kind": "coordinates", "epsilon": "2", "rate": "2000001/1000000"}}, "rate"),
    "a rate above alpha": ({"promise": {"kind": "coordinates", "alpha": "1/2", "rate": "7/10"}}, "rate"),
    "a rate of zero": ({"promise": {"kind": "coordinates", "epsilon": "2", "rate": "0"}}, "rate"),
    "a step": ({"promise": {"kind": "coordinates", "alpha": "1/9", "rate": "1", "step": "1/9"}}, "'step'"),
    "an alpha above one": ({"promise": {"kind": "coordinates", "alpha": "2", "rate": "1"}}, "alpha"),
    "a frame": ({"box": BOX | {"frame": "earth"}}, "frame"),
    "no frame": ({"box": {name: BOX[name] for name in BOX if name != "frame"}}, "frame"),
    "four axes": ({"box": BOX | {"sides": ["1"] * 4}}, "sides"),
    "a flat box": ({"box": BOX | {"sides": ["0"]}}, "positive"),
    "a negative side": ({"box": BOX | {"sides": ["-1"]}}, "positive"),
    "an origin too many": ({"box": BOX | {"origin": ["0", "0"]}}, "origin"),
    "cells that are no numbers": ({"box": BOX | {"cells": [True]}}, "cells"),
    "cells without end": ({"box": BOX | {"cells": [10**9]}}, "cells"),
    "another metric": ({"box": BOX | {"metric": "taxi"}}, "metric"),
    "a side with many digits": ({"box": BOX | {"sides": ["1/" + "7" * 101]}}, "digits"),
    "a third degree": ({"lattice": LATTICE | {"degree": 3}}, "degree"),
    "many halvings": ({"lattice": LATTICE | {"halvings": 5}}, "halvings"),
    "breaks that end early": ({"lattice": LATTICE | {"breaks": [["0", "1/4", "1/2"]]}}, "breaks"),
    "breaks that go down": ({"lattice": LATTICE | {"breaks": [["0", "2", "1"]]}}, "breaks"),
    "breaks without end": ({"lattice": LATTICE | {"breaks": [["0"] * 10**5]}}, "cells along an axis"),
    "one output twice": ({"outputs": [1, {"fraction": "2/2"}]}, "one name"),
    "an output with a name": ({"outputs": ["home", 1]}, "no number"),
    "an output that is true": ({"outputs": [True, 0]}, "no number"),
    "an output in a list": ({"outputs": [[0], [1]]}, "1 coordinates"),
    "a claim about rows": ({"claims": {"kind": "loss"}}, "."),
    "coordinates of a map": ({"space": {"name": "", "unit": "", "coordinates": []}}, "'coordinates'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_headers_about_coordinates_that_the_kernel_does_not_read(name: str, tmp_path: Path) -> None:
    changed, words = CHANGES[name]
    written = proved().as_certificate()
    written.header.update(json.loads(json.dumps(changed)))
    (tmp_path / "m.sfm").write_bytes(to_bytes(written))
    with pytest.raises(kernel.Unreadable, match=words):
        kernel.read(tmp_path / "m.sfm")
    with pytest.raises(InvalidFile, match=words):
        sf.load(tmp_path / "m.sfm")


def test_rows_that_are_not_the_lattice_are_refused(tmp_path: Path) -> None:
    written = proved().as_certificate()
    written.header["lattice"]["breaks"] = [["0", "1"]]
    (tmp_path / "m.sfm").write_bytes(to_bytes(written))
    with pytest.raises(kernel.Unreadable, match="sections"):
        kernel.read(tmp_path / "m.sfm")


def test_a_report_says_what_a_promise_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sf.save(sf.prove([[2, 1], [1, 2]], sf.PrivacyType(sf.line(2), alpha="1/2")), tmp_path / "rows.sfm")
    kernel.main([str(tmp_path / "rows.sfm")])
    assert "about these secrets, not about points between them" in capsys.readouterr().out


@pytest.mark.parametrize("truth", [True, np.False_])
def test_a_truth_value_is_no_coordinate(truth: Any) -> None:
    square = box((1, 1), step=1)
    table = prove_on_box([[1]] * 9, sf.PrivacyType(square, epsilon=1), rounding_of(square), [(0, 0)])
    with pytest.raises(InvalidInput, match="no truth value"):
        table.density((truth, 1))
    with pytest.raises(InvalidInput, match="no truth value"):
        prove_on_box([[1]] * 9, sf.PrivacyType(square, epsilon=1), rounding_of(square), [(0, truth)])
    with pytest.raises(InvalidInput, match="no truth value"):
        sf.mechanisms.box_noise.laplace_noise(sf.PrivacyType(square, epsilon=1), parts=1).density((truth, 1))
