from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.design.objectives import weighted
from sfumato.errors import InvalidInput, InvalidPrior, Mismatch
from sfumato.labels import in_order, table_in_order
from sfumato.privacy import ratio_bounds
from sfumato.release.estimation.counts import output_counts
from sfumato.release.estimation.estimates import nearest_prior
from sfumato.release.estimation.rows import posteriors, remap_rows
from sfumato.theory.compatibility.exponential import net_measure


class Level(IntEnum):
    LOW = 1


ROWS = ["c", "c", "c", "b", "a"]
ABC = sf.discrete(["a", "b", "c"])

COUNTED: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda rows: pd.Series(rows).value_counts(),
    "pandas frame": lambda rows: pd.Series(rows).value_counts().to_frame(),
    "pandas, two columns": lambda rows: pd.Series(rows).value_counts().reset_index(),
    "pandas, two columns, sorted": lambda rows: pd.Series(rows).value_counts().reset_index().sort_values("count"),
    "polars": lambda rows: pl.Series("x", rows).value_counts(),
    "pyarrow": lambda rows: pa.array(rows).value_counts(),
    "pyarrow table": lambda rows: pl.Series("x", rows).value_counts().to_arrow(),
    "narwhals": lambda rows: nw.from_native(pl.Series("x", rows).value_counts()),
    "narwhals series": lambda rows: nw.from_native(pd.Series(rows).value_counts(), series_only=True),
    "Counter": Counter,
    "dict": lambda rows: dict(Counter(rows)),
}


@pytest.mark.parametrize("library", COUNTED)
def test_counts_are_matched_by_label(library: str) -> None:
    prior = sf.Prior.from_counts(COUNTED[library](ROWS), ABC)
    assert prior.secrets == ("a", "b", "c") and prior.weights.tolist() == [Fraction(k, 5) for k in (1, 1, 3)]
    some = sf.Prior.from_counts(COUNTED[library](["c", "a", "c"]), ABC)  # b was not seen
    assert some.weights.tolist() == [Fraction(1, 3), 0, Fraction(2, 3)]
    with pytest.raises(Mismatch, match=r"^counted secrets: 'x' is not among 'a', 'b', 'c'"):
        sf.Prior.from_counts(COUNTED[library]([*ROWS, "x"]), ABC)


@pytest.mark.parametrize("library", COUNTED)
def test_released_outputs_are_counted_by_label(library: str) -> None:
    response = sf.random_response(sf.PrivacyType(ABC, epsilon=1))
    assert output_counts(response, COUNTED[library](ROWS)).tolist() == [1, 1, 3]
    assert sf.frequencies(response, COUNTED[library](["c", "a", "c"])).counts.tolist() == [1, 0, 2]
    for estimate in (sf.release.maximum_likelihood, sf.release.iterative_bayesian_update):
        weights = estimate(response, COUNTED[library](ROWS * 100)).prior.weights
        assert weights[2] > 0.6 and weights[0] == pytest.approx(weights[1])
    with pytest.raises(Mismatch, match="'x' is not among"):
        output_counts(response, COUNTED[library](["x", "a"]))


def test_the_default_index_of_pandas_is_a_label() -> None:
    counts = pd.Series([3, 1, 1])
    assert sf.Prior.from_counts(counts, sf.line(3)).weights[0] == Fraction(3, 5)
    assert sf.Prior.from_counts(counts[::-1], sf.line(3)).weights[0] == Fraction(3, 5)
    with pytest.raises(Mismatch, match=r"0 is not among 'a', 'b', 'c'.*pass \.to_numpy\(\).*or set the index"):
        sf.Prior.from_counts(counts, ABC)
    assert sf.Prior.from_counts(counts.to_numpy(), ABC).weights[0] == Fraction(3, 5)


def test_truth_values_are_no_numbers_and_texts_neither() -> None:
    assert sf.Prior.from_counts({0.0: 1, np.int64(1): 3}, sf.line(2)).weights[1] == Fraction(3, 4)
    for wrong in (
        {True: 1},
        {"1": 1},
        {Level.LOW: 1},
        {np.datetime64(1, "ns"): 1},
        {np.timedelta64(1, "s"): 1},
        {None: 1},
        {float("nan"): 1},
        {pd.Period(ordinal=1, freq="Y"): 1},
    ):
        with pytest.raises(Mismatch, match="is not among 0, 1"):
            sf.Prior.from_counts(wrong, sf.line(2))


def test_labels_that_are_doubled_or_missing() -> None:
    twice = pd.Series(["1/2", "1/4", "1/4"], index=["a", "b", "a"])
    for table in (twice, pl.DataFrame({"label": ["a", "b", "a"], "weight": [1, 2, 3]})):
        with pytest.raises(Mismatch, match="'a' occurs twice"):
            sf.Prior(["a", "b"], table)
    with pytest.raises(Mismatch, match="'c' is missing"):
        sf.Prior(ABC, {"a": "1/2", "b": "1/2"})
    with pytest.raises(InvalidInput, match="two columns"):
        sf.Prior.from_counts(pd.DataFrame({"x": ["a"], "y": [1], "z": [2]}), ABC)
    with pytest.raises(InvalidInput, match="an index that is no row number"):
        sf.Prior.from_counts(pd.DataFrame({"x": ["a"], "y": [1]}, index=["b"]), ABC)


def test_keys_are_not_taken_for_numbers() -> None:
    """The keys of this mapping have sum 1, and were the weights."""
    assert sf.Prior(sf.line(2), {1: "1/3", 0: "2/3"}).weights.tolist() == [Fraction(2, 3), Fraction(1, 3)]
    assert sf.losses.scale(sf.losses.bin(sf.line(2)), {1: 5, 0: 7}).matrix.tolist() == [[0, 5], [7, 0]]


def test_sets_have_no_order() -> None:
    for wrong in (
        lambda: sf.Prior(sf.line(2), {0, 1}),
        lambda: sf.Prior(frozenset("ab"), [0, 1]),
        lambda: sf.Prior.from_counts({1, 2}, sf.line(2)),
        lambda: sf.points({(0, 0), (1, 1)}),
    ):
        with pytest.raises(InvalidInput):
            wrong()


PANDAS = pd.DataFrame([["3/4", "1/4"], ["1/4", "3/4"]], index=["z", "x"], columns=["no", "yes"])
POLARS = pl.DataFrame({"secret": ["z", "x"], "no": ["3/4", "1/4"], "yes": ["1/4", "3/4"]})
TABLES = {
    "pandas": PANDAS,
    "polars": POLARS,
    "pyarrow": POLARS.to_arrow(),
    "narwhals": nw.from_native(POLARS),
    "mappings": {"z": {"no": "3/4", "yes": "1/4"}, "x": {"yes": "3/4", "no": "1/4"}},
    "series": [PANDAS.loc["x"], PANDAS.loc["z"][::-1]],
}


@pytest.mark.parametrize("library", TABLES)
def test_tables_are_matched_by_the_labels_of_rows_and_columns(library: str) -> None:
    table, quarter = TABLES[library], Fraction(1, 4)
    given = sf.Channel(["x", "z"], table)
    assert given.outputs == ("no", "yes") and given.matrix[0].tolist() == [quarter, 3 * quarter]
    assert sf.Channel(["x", "z"], table, outputs=["yes", "no"]).matrix[0].tolist() == [3 * quarter, quarter]
    for kind in (sf.Loss, sf.Gain):
        stake = kind(["x", "z"], ["yes", "no"], table)
        assert stake.at("x", "yes") == 3 * quarter and stake.at("z", "yes") == quarter
    with pytest.raises(Mismatch, match=r"the columns of a loss.*: 'no' is not among 'yes', 'maybe'"):
        sf.Loss(["x", "z"], ["yes", "maybe"], table)
    if library != "series":
        with pytest.raises(Mismatch, match="the rows of a channel: 'z' is not among 'x', 'w'"):
            sf.Channel(["x", "w"], table)


def test_a_loss_takes_its_actions_from_the_rows() -> None:
    loss = sf.losses.matrix(["no", "yes"], PANDAS)
    assert loss.actions == ("z", "x") and loss.at("x", "yes") == Fraction(3, 4)
    assert sf.losses.matrix(["x", "z"], [[0, 1], [1, 0]]).actions == ("x", "z")


def test_tables_without_names_for_their_rows_are_refused() -> None:
    with pytest.raises(Mismatch, match="after the first, which names its rows"):
        sf.Channel(["x", "z"], POLARS.drop("secret"), outputs=["no", "yes"])
    with pytest.raises(Mismatch, match=r"0 is not among 'x', 'z'.*\.to_numpy\(\)"):
        sf.Channel(["x", "z"], PANDAS.reset_index(drop=True))
    with pytest.raises(Mismatch, match=r"0 is not among 'yes', 'no'.*\.to_numpy\(\)"):
        sf.Channel(["x", "z"], pd.DataFrame(PANDAS.to_numpy(), index=["x", "z"]), ["yes", "no"])


def test_distances_scores_and_measures_are_matched_by_label() -> None:
    far = pd.DataFrame([[0, 1, 2], [1, 0, 3], [2, 3, 0]], index=list("cab"), columns=list("cab"))
    space = sf.FiniteSpace(["a", "b", "c"], far)
    assert (space.distance("a", "b"), space.distance("a", "c"), space.distance("b", "c")) == (3.0, 1.0, 2.0)
    placed = sf.FiniteSpace(["a", "b", "c"], far, coordinates=pd.DataFrame({"x": [1, 2, 3]}, index=list("cab")))
    assert placed.coordinates is not None and placed.coordinates[:, 0].tolist() == [2.0, 3.0, 1.0]
    promise = ratio_bounds(far)
    assert promise.space.labels == ("c", "a", "b") and promise.space.distance("a", "b") == 3.0
    assert ratio_bounds(far, labels=["a", "b", "c"]).space.distance("a", "b") == 3.0
    privacy = sf.PrivacyType(ABC, epsilon=1)
    score = pd.DataFrame(np.arange(6).reshape(3, 2), index=list("cba"), columns=["u", "v"])
    by_label = sf.exponential(privacy, score=score, base={"v": 2, "u": 1})
    in_turn = sf.exponential(privacy, score=score.to_numpy()[::-1], outputs=["u", "v"], base=[1, 2])
    assert by_label.outputs == ("u", "v") and (by_label.channel.matrix == in_turn.channel.matrix).all()
    masses = dict(zip(ABC.labels, net_measure(ABC), strict=True))
    backwards = dict(reversed(masses.items())) | {"a": Fraction(1, 7)}
    wanted = [backwards[label] for label in ABC.labels]
    first, second = (sf.exponential(privacy, base=base).channel.matrix for base in (backwards, wanted))
    assert (first == second).all()


def test_matrices_to_prove_repair_and_audit_are_matched_by_label() -> None:
    privacy = sf.PrivacyType(sf.discrete(["x", "z"]), epsilon=3)
    weights = pd.DataFrame([[3, 1], [1, 4]], index=["z", "x"], columns=["no", "yes"])
    proved = sf.prove(weights.mul([5, 4], axis=0), privacy)
    assert proved.outputs == ("no", "yes") and proved.channel.matrix[0].tolist() == [Fraction(1, 5), Fraction(4, 5)]
    shares = weights.div([4, 5], axis=0)
    fixed = sf.repair(shares, privacy).mechanism
    assert fixed.outputs == ("no", "yes") and float(fixed.channel.matrix[0, 0]) == pytest.approx(0.2)
    found = sf.audit(shares, privacy)
    assert found.channel.secrets == ("x", "z") and found.channel.matrix[0].tolist() == [0.2, 0.8]


def test_estimates_are_matched_by_label() -> None:
    assert nearest_prior(["a", "b"], {"b": 2, "a": 0}).weights.tolist() == [0, 1]
    channel = sf.Channel(["x", "z"], [["2/3", "1/3"], ["1/3", "2/3"]], ["no", "yes"])
    prior, rows = sf.Prior.uniform(channel.secrets), pa.array(["yes", "no"])
    assert posteriors(prior, channel).rows(rows)[0].tolist() == [Fraction(1, 3), Fraction(2, 3)]
    assert remap_rows(prior, channel, sf.losses.bin(channel), rows) == ["z", "x"]


def test_a_series_of_rows_or_of_counts() -> None:
    channel = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    rows = pd.Series([0, 1, 1, 1])
    assert output_counts(channel, rows).tolist() == output_counts(channel, rows.value_counts()).tolist() == [1, 3]
    assert output_counts(channel, rows[1:].reset_index(drop=True)).tolist() == [0, 3]
    with pytest.raises(InvalidInput, match=r"may be rows or counts: pass \.tolist\(\) for rows, \.to_dict\(\)"):
        output_counts(channel, pd.Series([1, 0]))


def test_tables_where_rows_are_wanted() -> None:
    """The names of these columns have two letters, and were edges."""
    for wrong in (
        lambda: sf.graph(pd.DataFrame({"ab": [1], "cd": [2]})),
        lambda: sf.graph(["ab", "cd"]),
        lambda: sf.points({"x": [1.0], "y": [2.0]}),
        lambda: sf.geo({(0, 0): 1, (1, 1): 2}),
        lambda: sf.Prior.uniform(pd.DataFrame({"ab": [1], "cd": [2]})),
        lambda: weighted([sf.Prior([0], [1])], {0: 1}),
        lambda: sf.channels.normalise({(1, 2): 0, (3, 4): 0}),
    ):
        with pytest.raises(InvalidInput):
            wrong()


def test_the_default_index_is_the_order_where_there_are_no_labels() -> None:
    priors = [sf.Prior([0, 1], [1, 0]), sf.Prior([0, 1], [0, 1])]
    assert weighted(priors, pd.Series([1, 3])).weights[1] == Fraction(3, 4)
    with pytest.raises(InvalidInput, match="with labels: pass its values"):
        weighted(priors, pd.Series([1, 3], index=[1, 0]))


def test_columns_become_labels() -> None:
    for column in (pa.array(["a", "b"]), pl.Series(["a", "b"]), pd.Series(["a", "b"]), np.array(["a", "b"])):
        assert sf.discrete(column).labels == ("a", "b")
    assert sf.Prior.from_counts(pa.array([1, 3]), ["a", "b"]).weights[1] == Fraction(3, 4)
    days = np.array([1, 2], dtype="datetime64[ns]")
    assert 1 not in sf.discrete(days).labels and sf.Prior.from_counts({days[1]: 3}, sf.discrete(days)).weights[1] == 1
    with pytest.raises(InvalidPrior, match="2 counts for 3 secrets"):
        sf.Prior.from_counts(pa.array([1, 3]), ABC)


def test_what_carries_no_labels_stays_as_it_is() -> None:
    for plain in ([1, 2], (1, 2), np.array([1, 2]), "12", 5):
        assert in_order(plain, ("a", "b"), "numbers") is plain
    table = np.eye(2)
    assert table_in_order(table, ("a", "b"), ("a", "b"), "numbers") is table
