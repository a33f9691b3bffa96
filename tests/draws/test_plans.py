"""Products, noise on integers and pixels: labels, indices, and the formulas behind them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draws.plans import AddedNoise, Pixels, Tuples, join, split
from sfumato.errors import InvalidInput, Mismatch
from sfumato.mechanisms.continuous import on_lattice, pixelate, truncated_laplace
from sfumato.mechanisms.continuous.pixelation import pixels_on


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_flat_indices_and_columns_are_inverse(sides: list[int]) -> None:
    flat = np.arange(np.prod(sides))
    columns = split(flat, sides)
    assert (columns == np.stack(np.unravel_index(flat, sides))).all()
    assert (join(columns, sides) == flat).all()


def test_labels_of_a_product_are_never_listed() -> None:
    labels = Tuples(["ab", range(3), (None, "x")])
    listed = list(product("ab", range(3), (None, "x")))
    assert list(labels) == listed and len(labels) == 12
    assert [labels.index(label) for label in listed] == list(range(12))
    assert labels[-1] == listed[-1] and labels[2:5] == listed[2:5]
    assert (
        ("b", 2, None) in labels and ("c", 0, None) not in labels and "b" not in labels and (["b"], 0, 0) not in labels
    )
    with pytest.raises(IndexError):
        labels[12]
    with pytest.raises(Mismatch, match="not among"):
        labels.index(("a", 3, None))
    assert repr(labels) == "Tuples(2 × 3 × 2)"
    assert Tuples([range(7)]).index(3) == 3 == Tuples([range(7)]).index((3,))
    assert Tuples([range(4)] * 40)[4**39 * 3] == (3, *[0] * 39)


class Given:
    """Noise that is given."""

    rate, fair = None, True

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def draw(self, stream: object, lanes: np.ndarray, first: int = 0) -> np.ndarray:
        return self.values


@pytest.mark.parametrize(("steps", "pixels"), [(1, 1), (2, 4), (4, 2), (3, 5), (6, 4)])
def test_pixels_have_the_masses_of_the_truncated_laplace_mechanism(steps: int, pixels: int) -> None:
    """Sum (1 − β)β^g/2 over the noise that leads to a pixel, the tails in closed form: the exact channel."""
    beta = Fraction(1, 3)
    cells = int(np.lcm(steps, pixels))
    source = truncated_laplace(alpha=beta**cells)
    expected = on_lattice(pixelate(source, pixels), steps).matrix
    reach = 2 * cells + 2
    noise = np.arange(-reach, reach)
    chances = [(1 - beta) * beta ** (k if k >= 0 else -1 - k) / 2 for k in noise.tolist()]
    tail = (1 - sum(chances)) / 2
    for secret in range(steps + 1):
        plan = Pixels(Given(noise), steps, pixels)  # type: ignore[arg-type]
        assert plan.cells == cells
        drawn = plan.draw(np.full((1, len(noise)), secret), None, None)[0].tolist()  # type: ignore[arg-type]
        found = [Fraction(0)] * pixels
        for pixel, chance in zip(drawn, chances, strict=True):
            found[pixel] += chance
        found[0] += tail
        found[-1] += tail
        assert found == expected[secret].tolist()


def test_the_rate_of_a_pixel_is_that_of_a_cell_of_the_common_lattice() -> None:
    plan = pixels_on(pixelate(truncated_laplace("1/2", interval=(1, 4)), 6), steps=4).as_plan()
    assert plan.noise.rate.epsilon == Fraction(1, 2) and plan.noise.rate.times == Fraction(3, 12)
    assert plan.noise.fair and plan.sides == (5,) and plan.output_sides == (6,)


def test_integers_keep_away_from_overflow() -> None:
    plan = AddedNoise(Given(np.array([5])))  # type: ignore[arg-type]
    assert plan.draw(np.array([[2**61]]), None, None).tolist() == [[2**61 + 5]]  # type: ignore[arg-type]
    for wrong in (2**61 + 1, -(2**61) - 1):
        with pytest.raises(InvalidInput, match="within ±2\\^61"):
            plan.draw(np.array([[wrong]]), None, None)  # type: ignore[arg-type]


def test_a_product_gives_each_factor_a_word_of_its_own() -> None:
    from sfumato.release.sampler import sampler

    two = sf.prove([[3, 1], [1, 3]], sf.PrivacyType(sf.line(2), alpha="1/3"))
    plan = sampler(sf.mechanisms.product_mechanism(two, two, two)).plan
    asked = []

    def take(lanes: np.ndarray, first: int, count: int) -> np.ndarray:
        asked.append((first, count))
        return np.full((count, len(lanes)), first << 62, dtype=np.uint64)

    drawn = plan.draw(np.zeros((3, 4), dtype=np.int64), SimpleNamespace(take=take), np.arange(4))
    assert asked == [(0, 1), (1, 1), (2, 1)] and drawn.shape == (3, 4)
