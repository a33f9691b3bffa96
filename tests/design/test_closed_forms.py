"""Optima that are written down, beside those that are searched for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design import closed_forms
from sfumato.design.closed_forms import closed_form
from sfumato.design.problem import problem


@st.composite
def lines(draw: Any) -> tuple[sf.FiniteSpace, np.ndarray]:
    """Points on a line in any order, any spacing."""
    places = draw(st.lists(st.integers(0, 30), min_size=2, max_size=7, unique=True))
    return sf.points([[p] for p in places]), np.array(places)


@given(lines(), st.data())
@settings(max_examples=60)
def test_the_geometric_is_the_optimum_on_a_line(line: Any, data: Any) -> None:
    space, places = line
    counts = data.draw(st.lists(st.integers(0, 9), min_size=len(space), max_size=len(space)).filter(any))
    prior = sf.Prior.from_counts(counts, space)
    targets = sorted(data.draw(st.lists(st.integers(-2, 32), min_size=1, max_size=6, unique=True)))
    power = data.draw(st.sampled_from([1, 2]))
    loss = sf.Loss(range(len(targets)), space, np.abs(np.subtract.outer(targets, places)) ** power)
    privacy = sf.PrivacyType(space, epsilon=data.draw(st.sampled_from(["0.001", "0.1", "0.7", 3, 20])))
    asked = problem(prior, loss, privacy)
    found = closed_form(asked, 1e-6)
    if len(asked.loss.actions) == 1:
        return
    assert found is not None
    assert found.method == "geometric with a remap"
    made, searched = sf.design(prior, loss, privacy), sf.design(prior, loss, privacy, solver="interior")
    assert made.method == "geometric with a remap"
    assert made.gap <= 1e-5
    assert made.bound <= searched.loss
    assert searched.bound <= made.loss


def test_a_loss_without_single_crossings_is_searched_for() -> None:
    """ "Is the secret even?" on a line: no remap of the geometric is the best."""
    space = sf.line(12)
    loss = sf.losses.member(space, [0, 2, 4, 6, 8, 10])
    prior = sf.Prior.from_counts([5, 1, 2, 2, 1, 5, 1, 2, 2, 1, 3, 1], space)
    asked = problem(prior, loss, sf.PrivacyType(space, epsilon=1))
    assert closed_form(asked, 1e-6) is None
    assert sf.design(prior, loss, sf.PrivacyType(space, epsilon=1)).gap <= 1e-4


@pytest.mark.parametrize("table", [[[0, 5], [3, 0]], [[0, 1], [1, 0], [0.3, 0.3]], [[-2, 5], [3, 0]]])
def test_two_secrets_whatever_the_loss(table: Any) -> None:
    space = sf.points([[0.0], [1.7]])
    prior = sf.Prior(space, [0.3, 0.7])
    loss = sf.Loss(range(len(table)), space, np.array(table, dtype=float))
    made = sf.design(prior, loss, sf.PrivacyType(space, epsilon="0.8"))
    assert made.method == "geometric with a remap"
    assert float(made.loss - made.bound) <= 1e-9


@pytest.mark.parametrize(
    "space",
    [sf.grid(4, 4), sf.grid(4, 5, metric="manhattan"), sf.cycle(12), sf.spaces.star(4), sf.hamming(4)],
    ids=lambda s: s.name,
)
def test_tight_constraints_for_bin_under_a_regular_prior(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, epsilon=2)
    rng = np.random.default_rng(1)
    weights = np.exp(-2 * space.distances.floats) @ rng.random(len(space))
    prior = sf.Prior.from_counts(weights.tolist(), space)
    made = sf.design(prior, sf.losses.bin(space), privacy)
    assert made.method == "tight constraints"
    assert made.gap <= 1e-9
    assert made.loss == pytest.approx(1 - float(sf.types.utility_bound(prior, privacy).value), abs=1e-9)


def test_a_prior_that_is_not_regular_is_searched_for() -> None:
    space = sf.cycle(12)
    prior = sf.Prior.from_counts([1] + [0] * 5 + [1] + [0] * 5, space)
    made = sf.design(prior, sf.losses.bin(space), sf.PrivacyType(space, epsilon="1/2"))
    assert made.method != "tight constraints"
    assert made.gap <= 1e-4


def spelled(table: np.ndarray, shift: np.ndarray, scale: float, order: list[int]) -> np.ndarray:
    """A loss with other numbers that asks for the same mechanism: scaled, with costs of the secret alone, reordered."""
    return (scale * table + shift)[order]


@pytest.mark.parametrize("spelling", ["integers", "floats", "scaled", "shifted", "reordered"])
@pytest.mark.parametrize("kind", ["absolute", "bin"])
def test_a_closed_form_is_known_by_its_numbers(kind: str, spelling: str) -> None:
    space, n = sf.line(40), 40
    table = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) if kind == "absolute" else 1 - np.eye(n, dtype=int)
    method = "geometric with a remap" if kind == "absolute" else "tight constraints"
    shift = np.arange(n) % 7 if spelling == "shifted" else np.zeros(n, dtype=int)
    scale = 2.5 if spelling == "scaled" else 1.0 if spelling == "floats" else 1
    order = list(reversed(range(n))) if spelling == "reordered" else list(range(n))
    loss = sf.Loss([f"say {k}" for k in range(n)], space, spelled(table, shift, scale, order))
    counts = [3] * n if kind == "bin" else [1 + (5 * k) % 11 for k in range(n)]
    asked = problem(sf.Prior.from_counts(counts, space), loss, sf.PrivacyType(space, epsilon="0.7"))
    found = closed_form(asked, 1e-6)
    # on a line the geometric is tight, and is tried first
    assert found is not None and found.method in (method, "geometric with a remap")
    made = sf.design(sf.Prior.from_counts(counts, space), loss, sf.PrivacyType(space, epsilon="0.7"))
    assert made.method == found.method and made.gap <= 1e-4


@pytest.mark.parametrize("weight", [1, "of the secret"])
def test_bin_beyond_a_line_however_it_is_spelled(weight: Any) -> None:
    space = sf.grid(6, 6, metric="manhattan")
    n = len(space)
    each = np.ones(n) if weight == 1 else 1.0 + 0.1 * np.arange(n) / n
    table = each[None, :] * (1 - np.eye(n))[::-1] + np.linspace(-1, 2, n)[None, :]
    loss = sf.Loss(range(n), space, table)
    made = sf.design(sf.Prior.uniform(space), loss, sf.PrivacyType(space, epsilon=2))
    assert made.method == "tight constraints" and made.gap <= 1e-4
    searched = sf.design(sf.Prior.uniform(space), loss, sf.PrivacyType(space, epsilon=2), solver="interior")
    assert made.bound <= searched.loss
    assert searched.bound <= made.loss


def test_far_flows_are_left_out() -> None:
    """What a row hands on is worth e^{-1} of it a step further: forty steps away it proves nothing any more."""
    space = sf.line(400)
    asked = problem(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, epsilon=1))
    found = closed_form(asked, 1e-5)
    assert found is not None
    assert len(found.multipliers) < 400 * 80


def test_many_secrets_have_a_closed_form_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,001 answers of a count, without a table of that size: what counts is memory, not a number of secrets."""
    asked = SimpleNamespace(
        shape=(5001, 5001),
        objective=SimpleNamespace(plain=True),
        events=(),
        privacy=SimpleNamespace(space=range(5001)),
    )
    tried: list[int] = []
    monkeypatch.setattr(closed_forms, "room", lambda: 2**34)
    for name in ("_on_a_line", "_bin_under_a_regular_prior"):
        monkeypatch.setattr(closed_forms, name, lambda asked, spare: iter(tried.append(asked.shape[0]) or ()))
    assert closed_form(asked, 1e-4) is None  # type: ignore[arg-type]
    assert tried == [5001, 5001]
