"""Spaces, and what is made of them, in another process."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import sfumato as sf
from sfumato import errors

SPACES = [
    sf.line(4, unit="km"),
    sf.grid(3, 3),
    sf.grid(3, 2, metric="manhattan", step="1/2"),
    sf.discrete(["a", "b"]),
    sf.hamming(3),
    sf.graph([("a", "b", "1/2"), ("b", "c", 2)]),
    sf.geo([(48.1, 11.6), (52.5, 13.4)]),
    sf.points([(0, 0), (1.5, 2)]),
    sf.count_query(4),
    sf.FiniteSpace(["a", "b"], [[0, 1], [1, 0]]),
]


@pytest.mark.parametrize("space", SPACES, ids=[space.name or "matrix" for space in SPACES])
def test_a_space_comes_back_as_it_was(space: sf.FiniteSpace) -> None:
    again = pickle.loads(pickle.dumps(space))
    assert (again.labels, again.unit, again.name) == (space.labels, space.unit, space.name)
    assert again.distances.form is space.distances.form and again.distances.unit == space.distances.unit
    assert np.array_equal(again.distances.values, space.distances.values)
    assert [end.tolist() for end in again.pairs] == [end.tolist() for end in space.pairs]
    if space.coordinates is not None:
        assert np.array_equal(again.coordinates, space.coordinates)


def test_designs_and_mechanisms_travel_and_are_proved_again() -> None:
    space = sf.grid(2, 3)
    made = sf.design(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    again = pickle.loads(pickle.dumps(made))
    assert again.loss == made.loss and sf.verify(again.mechanism).witness.digest == made.mechanism.proof.digest


def test_a_curve_on_a_pool_of_processes_is_the_curve() -> None:
    space = sf.line(4)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = sf.curve(prior, loss, space, ["0.5", 1, 2], executor=pool)
        with pytest.raises(errors.NotSupported, match="other processes"):
            sf.curve(prior, loss, space, [1], executor=pool, progress=print)
    here = sf.curve(prior, loss, space, ["0.5", 1, 2])
    for made, other in zip(there.designs, here.designs, strict=True):
        assert max(made.bound, other.bound) <= min(made.loss, other.loss) and made.gap < 1e-3


TREE = sorted(
    (e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.SfumatoError)),
    key=lambda error: error.__name__,
)


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_errors_keep_what_they_carry(error: type[errors.SfumatoError]) -> None:
    samples = {
        errors.InvalidMetric: (errors.InvalidMetric("no metric", (0, 1, 2)), "triple"),
        errors.PrivacyViolation: (errors.PrivacyViolation("broken", (0, 1), 2, 3.0, 2.0), "pair"),
        errors.NotSupported: (errors.NotSupported("this", ["that"]), "supported"),
        errors.TooLarge: (errors.TooLarge("this", 2**40, 2**30, ["less"]), "bytes"),
        errors.MissingExtra: (errors.MissingExtra("figures", "kaleido"), "extra"),
        errors.Mismatch: (errors.Mismatch("secrets", (1,), (2,)), "expected"),
    }
    value, attribute = samples.get(error) or (error("told"), "__class__")
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is error and str(again) == str(value) and getattr(again, attribute) == getattr(value, attribute)
