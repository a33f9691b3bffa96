from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.measures import Workload, mean_workload, recoverable, share_variance, workload
from sfumato.verdict import Outcome

LINE = sf.line(3)
RESPONSE = sf.Channel(LINE, [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]])


def test_workloads_by_name_and_by_matrix() -> None:
    assert workload(None, LINE).matrix.tolist() == np.eye(3).tolist()
    assert workload("cumulative", LINE).rows == (0, 1)
    assert workload("mean", LINE).matrix.tolist() == [[0, 1, 2]]
    named = workload({"low": [1, 0, 0], "high": [0, 0, 1]}, LINE)
    assert named.rows == ("low", "high") and repr(named) == "Workload(workload, 2 × 3)"
    assert workload(named, LINE) is named


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("median", NotSupported), ([[1, 2]], InvalidInput), ([], InvalidInput), ([[0, 0, 0]], InvalidInput),
        ([[1, float("nan"), 0]], InvalidInput), ([["a", 0, 0]], InvalidInput), (5, InvalidInput),
        (Workload(("a",), ("a",), np.eye(1), "shares"), Mismatch),
    ],
)  # fmt: skip
def test_what_is_no_workload(what: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        workload(what, LINE)


def test_a_table_is_matched_by_label() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[5, 3, 1]], columns=[2, 1, 0], index=["all"])
    assert workload(table, LINE).matrix.tolist() == [[1, 3, 5]] and workload(table, LINE).rows == ("all",)
    with pytest.raises(Mismatch):
        workload(table.rename(columns={0: "zero"}), LINE)


def test_means_need_numbers() -> None:
    with pytest.raises(InvalidInput, match="values"):
        workload("mean", ["no", "yes"])
    assert mean_workload(["no", "yes"], [0, 1]).matrix.tolist() == [[0, 1]]
    with pytest.raises(InvalidInput, match="each of 2"):
        mean_workload(["no", "yes"], [1])


def test_exact_values_and_floats_agree() -> None:
    prior = sf.Prior(LINE, ["1/2", "1/3", "1/6"])
    for what in (None, "cumulative", "mean", [[1, 0, -1], ["1/2", 2, 0]]):
        exact = share_variance(prior, RESPONSE, what)
        assert isinstance(exact, Fraction)
        assert share_variance(prior, sf.Channel(LINE, RESPONSE.matrix.astype(float)), what) == pytest.approx(
            float(exact)
        )


def test_it_is_the_variance_of_simulated_surveys() -> None:
    """Ten thousand surveys of 400 answers: the variances of the best unbiased estimate add up to what is said."""
    generator, prior = np.random.default_rng(3), np.array([0.5, 0.3, 0.2])
    matrix = RESPONSE.matrix.astype(float)
    counts = generator.multinomial(400, prior @ matrix, size=10_000)
    estimates = counts / 400 @ np.linalg.inv(matrix)
    said = share_variance(sf.Prior(LINE, prior), sf.Channel(LINE, matrix))
    assert 400 * estimates.var(axis=0).sum() == pytest.approx(said, rel=0.05)


def test_what_cannot_be_recovered_is_infinite() -> None:
    merged = sf.Channel(LINE, [[1, 0], ["1/2", "1/2"], [0, 1]], outputs=["a", "b"])
    uniform = sf.Prior.uniform(LINE)
    assert share_variance(uniform, merged) == inf
    assert share_variance(uniform, sf.Channel(LINE, merged.matrix.astype(float), ["a", "b"])) == inf
    assert share_variance(uniform, merged, "mean") == Fraction(1)  # twice an indicator of b
    assert recoverable(merged, "mean")


def test_floats_may_leave_it_undecided() -> None:
    nearly = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    verdict = recoverable(sf.Channel(LINE, nearly))
    assert verdict.outcome is Outcome.UNDECIDED
    assert recoverable(sf.Channel(LINE, RESPONSE.matrix.astype(float)))
    assert not recoverable(sf.Channel(LINE, nearly[:, :1] * 0 + 1.0, ["x"]))
