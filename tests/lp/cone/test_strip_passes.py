"""Compiled passes over cones beside those over arrays, on cones of one to four components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.lp.cone.strip_passes import Passes, passes_for


@st.composite
def arrays(draw: Any) -> tuple[Any, ...]:
    """Slacks and duals inside their cones, some close to the boundary; seven arrays of any vectors; and weights."""
    d, cones, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5)), 4 * draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inside = rng.normal(size=(2, d, cones, columns))
    inside[:, 0] = np.linalg.norm(inside[:, 1:], axis=1) * (1 + 10.0 ** rng.uniform(-3, 0, (2, cones, columns)))
    inside[:, 0] += 10.0 ** rng.uniform(-3, 0, (2, cones, columns))
    return *inside, rng.normal(size=(7, d, cones, columns)), 0.1 + rng.random((cones, columns))


@given(arrays())
@settings(max_examples=60)
def test_every_pass(case: Any) -> None:
    s, z, others, weight = case
    compiled, plain = passes_for(s), Passes()
    assert type(compiled) is not Passes

    def agree(name: str, *given: Any) -> Any:
        found, expected = (getattr(passes, name)(*given) for passes in (compiled, plain))
        close(found, expected)
        return expected

    seen, v, squares = plain.scaled(s, z)
    own, own_v, own_squares = compiled.scaled(s, z)
    close([own.size, own.axis, own_v], [seen.size, seen.axis, v])
    close(own_squares[0], np.concatenate([entry.reshape(-1, s.shape[-1]) for entry in squares]))
    change, ahead, goal, t, old_change, old_goal, any_vector = others
    agree("divided", seen, any_vector)
    agree("divided", seen, goal, change)
    agree("predicted", v, change)
    agree("aimed", v, change, weight, 0.3, -1.0, 10.0)
    agree("moved", v, ahead, change, goal, t, weight, 0.7, 0.6, 0.1, 3.0)
    agree("reaches", v, ahead, change, goal, old_change, old_goal, (1.0, 0.5, 0.0))
    agree("mixed", ahead, change, old_change, 0.3)
    agree("stepped", z, seen, goal, change, 0.4)
    assert compiled.inside(s)
    assert not compiled.inside(any_vector - 10.0)


def close(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9 * np.abs(expected).max())
        return
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            close(one, other)
        return
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_what_is_no_number_is_not_inside() -> None:
    for place in (0, 5, 11):
        x = np.ones((1, 3, 4))
        x.reshape(-1)[place] = np.nan
        assert not passes_for(x).inside(x)
        assert not Passes().inside(x)


def test_registers_are_filled_or_arrays_are_used() -> None:
    kinds = [type(passes_for(np.ones(shape))) is Passes for shape in ((3, 2, 4), (3, 2, 3), (5, 2, 4), (2, 0, 4))]
    assert kinds == [False, True, True, True]
