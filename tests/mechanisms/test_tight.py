from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from examples import random_response, truncated_geometric
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import Infeasible, InvalidInput, NotSupported, UndecidedError
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.tight import (
    LatticeMechanism,
    has_lattice_tight_constraints,
    lattice_threshold,
    lattice_tight_constraints,
    tight_constraints,
)
from sfumato.privacy.regular import Separation, has_tight_constraints
from sfumato.privacy.similarity import similarity
from sfumato.privacy.threshold import tight_threshold


def table(privacy: sf.PrivacyType) -> Mechanism:
    found = tight_constraints(privacy)
    assert isinstance(found, Mechanism)
    return found


def test_known_mechanisms_are_tight() -> None:
    alpha = Fraction(1, 3)
    line, discrete = (table(sf.PrivacyType(s, alpha=alpha)).channel for s in (sf.line(6), sf.discrete(5)))
    assert (line.matrix == truncated_geometric(6, alpha).matrix).all()
    assert (discrete.matrix == random_response(5, alpha).matrix).all()


@pytest.mark.parametrize(
    "privacy",
    [
        sf.PrivacyType(sf.grid(6, 5), epsilon="0.8"),
        sf.PrivacyType(sf.grid(4, 4, step="1/7"), epsilon=20),
        sf.PrivacyType(sf.spaces.k_count_query(8, 2), epsilon="1.2"),
        sf.PrivacyType(sf.cycle(7), epsilon="0.001"),
        sf.PrivacyType(sf.points([[0.1, 0.2], [0.5, 0.9], [1.7, 0.3]]), epsilon=3.5),
        sf.PrivacyType(sf.graph([(0, 1), (2, 3)], labels=range(5)), epsilon=1),
    ],
    ids=str,
)
def test_irrational_types_are_rounded_and_proved(privacy: sf.PrivacyType) -> None:
    mechanism = table(privacy)
    assert sf.verify(mechanism)
    assert mechanism.outputs == privacy.secrets
    z = has_tight_constraints(privacy).witness.values
    exact = similarity(privacy).astype(float) * z.astype(float)
    moved = np.abs(mechanism.weights.astype(float) / mechanism.total - exact).sum(axis=1).max() / 2
    assert moved < 1e-9


def test_tiny_epsilon_goes_through_repair() -> None:
    assert sf.verify(table(sf.PrivacyType(sf.line(4), epsilon="0.00000001")))


def test_what_does_not_exist_says_why() -> None:
    with pytest.raises(Infeasible, match="z = -1/3 < 0 at 0") as caught:
        tight_constraints(sf.PrivacyType(sf.spaces.star(4), alpha="1/2"))
    assert isinstance(caught.value.ray, Separation)


def test_large_spaces_need_structure() -> None:
    with pytest.raises(NotSupported, match="lattice_tight_constraints"):
        tight_constraints(sf.PrivacyType(sf.cycle(3000), epsilon=1))


def test_large_grids_are_lattices() -> None:
    """A table or an error, whatever the size; the error names the call that gives what is never a table."""
    with pytest.raises(NotSupported, match=r"lattice_tight_constraints\(Lattice\(\(60, 50\), …\)\)"):
        tight_constraints(sf.PrivacyType(sf.grid(60, 50), epsilon="0.8"))
    mechanism = lattice_tight_constraints(Lattice((60, 50)), epsilon="0.8")
    with pytest.raises(NotSupported, match="at most 2500 cells"):
        mechanism.as_table()


@pytest.mark.parametrize(
    ("shape", "metric", "promise"),
    [
        ((7, 6), "euclidean", {"epsilon": "0.8"}),
        ((7, 6), "euclidean", {"alpha": "2/5"}),
        ((5, 8), "chebyshev", {"epsilon": "1.5"}),
        ((6, 6), "manhattan", {"epsilon": "0.01"}),
        ((6, 6), "manhattan", {"alpha": "1/2"}),
        ((40,), "euclidean", {"epsilon": "0.3"}),
        ((3, 4, 3), "euclidean", {"epsilon": "2"}),
        ((3, 3, 3), "chebyshev", {"epsilon": "4"}),
    ],
    ids=str,
)
def test_the_kernel_proves_all_rows_of_a_lattice(shape: tuple[int, ...], metric: str, promise: dict[str, str]) -> None:
    """The argument for a lattice is general; on small ones the kernel checks every pair and output itself."""
    mechanism = lattice_tight_constraints(Lattice(shape, metric), **promise)
    privacy = sf.PrivacyType(sf.grid(*shape, metric=metric), **promise)  # type: ignore[arg-type]
    rows = np.stack([mechanism.row_weights(label).ravel() for label in privacy.secrets])
    assert (rows.sum(axis=1) == mechanism.total).all()
    assert sf.prove(rows, privacy).total == mechanism.total
    share = rows / mechanism.total
    assert np.abs(share - similarity(privacy).astype(float) * mechanism.solution.values.ravel()).max() < 1e-11
    told = sum(int(rows[x, x]) for x in range(len(rows)))
    assert mechanism.utility == Fraction(told, mechanism.total * len(privacy.space))
    assert float(mechanism.utility) <= mechanism.utility_bound < float(mechanism.utility) + 1e-6
    assert mechanism.expected_distance() == pytest.approx(
        (share * privacy.space.distances.floats).sum() / len(privacy.space), rel=1e-9
    )


def test_pairs_of_rows_are_compared_in_integers_and_the_floor_is_needed() -> None:
    mechanism = lattice_tight_constraints(Lattice((60, 60)), epsilon="0.8")
    pairs = [((0, 0), (0, 1)), ((30, 30), (31, 30)), ((0, 0), (59, 59)), ((5, 5), (6, 7))]
    assert all(mechanism.verify_pair(*pair) for pair in pairs)
    assert mechanism.verify_pair((4, 4), (4, 4))
    bare = replace(mechanism, floor=0)
    verdicts = [bare.verify_pair(*pair) for pair in pairs]
    assert not all(verdicts)
    assert np.isclose(mechanism.row((3, 3)).sum(), 1)


def test_missing_parts_lie_where_they_are_said_to() -> None:
    mechanism = lattice_tight_constraints(Lattice((30, 20)), epsilon="0.75")
    low, high = mechanism.missing
    for secret in ((0, 0), (15, 10), (29, 19), (3, 17)):
        core = mechanism.row_weights(secret)
        y = mechanism.spill
        gap = np.abs(np.array(secret) - y)
        table_, bits = mechanism.solution.kernel.integers, mechanism.solution.bits
        inside = (gap < table_.shape).all()
        own = (int(table_[tuple(gap)]) * int(mechanism.diagonal[y]) >> bits) if inside else 0
        assert low <= int(core[y]) - own - mechanism.floor <= high


def test_lattice_verdicts() -> None:
    assert not has_lattice_tight_constraints(Lattice((40, 40)), epsilon="0.6")
    assert has_lattice_tight_constraints(Lattice((40, 40)), epsilon="0.7")
    assert has_lattice_tight_constraints(Lattice((40, 40), step=Fraction(1, 10)), epsilon="7")
    assert has_lattice_tight_constraints(Lattice((30, 30), "manhattan"), epsilon="0.001")
    assert has_lattice_tight_constraints(Lattice((6, 6, 6), "chebyshev"), epsilon="1").outcome == "undecided"
    with pytest.raises(UndecidedError):
        lattice_tight_constraints(Lattice((6, 6, 6), "chebyshev"), epsilon="1")
    with pytest.raises(Infeasible, match="< 0 at"):
        lattice_tight_constraints(Lattice((40, 40)), epsilon="0.6")


def test_lattice_verdicts_agree_with_tables() -> None:
    for epsilon in ("0.5", "0.66", "0.67", "1"):
        one = has_lattice_tight_constraints(Lattice((9, 8)), epsilon=epsilon)
        assert one.outcome == has_tight_constraints(sf.PrivacyType(sf.grid(9, 8), epsilon=epsilon)).outcome


def test_lattice_thresholds_agree_with_tables() -> None:
    found = lattice_threshold(Lattice((10, 10)), digits=8)
    table_ = tight_threshold(sf.grid(10, 10), digits=12)
    assert found.low < table_.value.low < table_.value.high < found.high
    with pytest.raises(NotSupported, match="every ε"):
        lattice_threshold(Lattice((10, 10), "manhattan"))


def test_wrong_secrets() -> None:
    mechanism = lattice_tight_constraints(Lattice((5, 5)), epsilon=1)
    for secret in ((5, 0), (1,), (0.5, 1), "a"):
        with pytest.raises(InvalidInput, match="tuple of indices"):
            mechanism.row_weights(secret)  # type: ignore[arg-type]


def test_rows_of_a_lattice_are_sampled_from_their_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every threshold between two outputs is drawn on both sides: the cell of a draw is the cell of its weight."""
    made = lattice_tight_constraints(Lattice((5, 4)), epsilon="0.9")
    weights = made.row_weights((2, 1))
    ends = np.cumsum(weights.ravel()).tolist()
    for place, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for draw in (start, end - 1):
            monkeypatch.setattr(sys.modules[LatticeMechanism.__module__], "randbelow", lambda total, draw=draw: draw)
            assert made.sample((2, 1)) == np.unravel_index(place, (5, 4))
    monkeypatch.undo()
    assert all(0 <= i < side for i, side in zip(made.sample((0, 0)), (5, 4), strict=True))
