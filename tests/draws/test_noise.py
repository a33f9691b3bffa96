"""Tables of real masses and the digits of geometric noise, against exact fractions and long decimals."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draws.noise import Digit, EnclosedTable, Noise, Rate, enclosed_table, noise, staircase_noise
from sfumato.draws.randomness import FreshStream, SystemBits
from sfumato.errors import NotSupported


@dataclass(frozen=True)
class Thirds:
    """Masses 1/3, 2/3, 0."""

    def below(self, bits: int) -> list[int]:
        return [(1 << bits) // 3, (2 << bits) // 3, 0]


class Chosen:
    """A lane whose bounded integers are chosen, and whose bounds are kept."""

    def __init__(self, *places: int) -> None:
        self.places, self.bounds = list(places), list[int]()

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        place = self.places.pop(0)
        assert 0 <= place < bound
        return place


def exact_masses(alpha: Fraction, digit: Digit) -> list[Fraction]:
    rest = alpha**digit.size
    plain = [(1 - alpha) * alpha**r / (1 if digit.last else 1 - rest) for r in range(digit.size)]
    plain += [rest] if digit.last else []
    if not digit.signed:
        return plain
    positive = Fraction(1, 2) if digit.fair else 1 / (1 + alpha)
    return [mass * share for mass in plain for share in (positive, 1 - positive)]


@given(
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    st.integers(1, 30), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([5, 62, 200]),
)  # fmt: skip
def test_masses_of_a_digit_are_bounded_tightly_from_below(
    alpha: Fraction, size: int, last: bool, signed: bool, fair: bool, bits: int
) -> None:
    digit = Digit(Rate(None, alpha), size, last, signed, fair)
    expected = exact_masses(alpha, digit)
    assert sum(expected) == 1
    for found, mass in zip(digit.below(bits), expected, strict=True):
        assert 0 <= (mass << bits if isinstance(mass, int) else mass * 2**bits) - found <= 1 + Fraction(1, 2**20)


def test_irrational_masses_agree_with_long_decimals() -> None:
    digit = Digit(Rate(Fraction(1, 7), None, Fraction(3, 2)), 20, True, signed=True, fair=False)
    with localcontext() as context:
        context.prec = 120
        beta = (Decimal(-3) / 14).exp()
        for bits in (62, 126, 190):
            found = digit.below(bits)
            for r in range(21):
                mass = beta**20 if r == 20 else (1 - beta) * beta**r
                for s, share in enumerate((1 / (1 + beta), beta / (1 + beta))):
                    gap = mass * share * 2**bits - found[2 * r + s]
                    assert 0 <= gap <= Decimal("1.001")


def test_a_power_of_a_rational_is_the_rate_of_its_logarithm() -> None:
    by_alpha = Digit(Rate(None, Fraction(1, 4), Fraction(1, 2)), 10, True)
    assert by_alpha.below(80) == Digit(Rate(None, Fraction(1, 2)), 10, True).below(80)


# ----------------------------------------------------------------- the rest


def test_what_is_drawn_in_the_rest_is_what_the_weights_gain() -> None:
    table = enclosed_table(Thirds(), bits=2)
    assert table.tables.weights.tolist() == [[1, 2, 0, 1]]
    gained = [v - (w << 64) for w, v in zip([1, 2, 0], Thirds().below(66), strict=True)]
    assert sum(gained) == (1 << 64) - 1
    for place, index in ((0, 0), (gained[0] - 1, 0), (gained[0], 1), (gained[0] + gained[1] - 1, 1)):
        lane = Chosen(place)
        assert table._in_the_rest(lane) == index  # type: ignore[arg-type]
        assert lane.bounds == [1 << 64]
    # the last place is left over again, and of 2^64 finer ones 1/3 and 2/3 are gained once more
    deeper = Chosen((1 << 64) - 1, 0)
    assert table._in_the_rest(deeper) == 0  # type: ignore[arg-type]
    assert deeper.bounds == [1 << 64, 1 << 64]


def test_looser_bounds_later_on_take_nothing_back() -> None:
    class Worse:
        def below(self, bits: int) -> list[int]:
            return [(1 << bits) // 2, (1 << bits) // 2 - (1 << (bits - 3))] if bits < 70 else [0, (1 << bits) // 2]

    table = enclosed_table(Worse(), bits=4)
    assert table.tables.weights.tolist() == [[8, 6, 2]]
    assert table._in_the_rest(Chosen(0, 5)) == 1  # type: ignore[arg-type]


def test_one_index_from_a_lane() -> None:
    table = enclosed_table(Thirds(), bits=2)
    assert [table.one(Chosen(place)) for place in range(3)] == [0, 1, 1]  # type: ignore[arg-type]
    assert table.one(Chosen(3, 0)) == 0  # type: ignore[arg-type]


# ----------------------------------------------------------------- digits


class Listed:
    """A table that draws a list."""

    def __init__(self, values: list[int], size: int, more: int) -> None:
        self.values, self.tables = values, SimpleNamespace(weights=np.zeros((1, size + more + 1)))

    def draw(self, stream: Any, lanes: np.ndarray, number: int) -> np.ndarray:
        return np.array(self.values)

    def one(self, lane: Any) -> int:
        return next(lane)


def test_digits_are_put_together() -> None:
    heads, digits = range(6), range(4)
    pairs = [(h, d) for h in heads for d in digits]
    table = Noise(
        Rate(Fraction(1), None), False, (3, 4),
        (Listed([h for h, _ in pairs], 6, 0), Listed([d for _, d in pairs], 4, 1)),  # type: ignore[arg-type]
    )  # fmt: skip
    found = table.draw(FreshStream(SystemBits()), np.arange(len(pairs)))
    sizes = [h // 2 + 3 * d for h, d in pairs]
    assert found.tolist() == [g if h % 2 == 0 else -1 - g for g, (h, _) in zip(sizes, pairs, strict=True)]
    assert sorted(found.tolist()) == list(range(-12, 12))


def test_the_last_digit_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes: list[Any] = []
    script = iter([8, 9, 3])  # of a signed head of size 4: "more" twice, then 1

    def lane(stream: Any, lane: int, after: int, *, again: bool = False) -> Any:
        lanes.append((lane, after, again))
        return script

    monkeypatch.setattr("sfumato.draws.noise.Lane", lane)
    single = Noise(Rate(Fraction(1), None), False, (4,), (Listed([2, 9, 0], 8, 2),))  # type: ignore[arg-type]
    assert single.draw(None, np.array([5, 6, 7]), 3).tolist() == [1, -1 - (4 + 4 + 4 + 1), 0]  # type: ignore[arg-type]
    assert lanes == [(6, 3, True)]
    script = iter([1])
    double = Noise(
        Rate(Fraction(1), None), False, (4, 3), (Listed([3, 2], 8, 0), Listed([3, 2], 3, 1))  # type: ignore[arg-type]
    )  # fmt: skip
    assert double.draw(None, np.array([0, 1]), 0).tolist() == [-1 - (1 + 4 * (3 + 1)), 1 + 4 * 2]  # type: ignore[arg-type]


def test_digits_of_geometric_noise_multiply_to_it() -> None:
    """G = R + B·Q: the masses of the digits multiply to (1 − β)β^g, exactly."""
    beta, size, more = Fraction(2, 3), 4, 5
    first = exact_masses(beta, Digit(Rate(None, beta), size, False))
    second = exact_masses(beta**size, Digit(Rate(None, beta), more, True))
    for g in range(size * more):
        assert first[g % size] * second[g // size] == (1 - beta) * beta**g


@pytest.mark.parametrize(("rate", "words"), [("5", 1), ("1/35", 1), ("1/40", 2), ("1/100000", 3), ("1/1000000000", 4)])
def test_slow_noise_takes_a_digit_more(rate: str, words: int) -> None:
    made = noise(Rate(Fraction(rate), None), fair=False)
    assert made.words == words == len(made.sizes)
    last = made.digits[-1]
    assert isinstance(last, EnclosedTable)
    # a draw seldom leaves the tables: "more" and the rest
    weights = last.tables.weights[0]
    assert int(weights[-1 - made._more :].sum()) < 2**22 + 4 * len(weights)


def test_noise_that_hardly_falls_is_refused() -> None:
    noise(Rate(Fraction(1, 2**39), None), fair=True)
    with pytest.raises(NotSupported, match="2\\^-40 a step"):
        noise(Rate(Fraction(1, 2**41), None), fair=True)


def test_noise_beyond_all_integers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Noise(Rate(Fraction(1), None), False, (1 << 60,), (Listed([1 << 61], 1, 2),))  # type: ignore[arg-type]
    monkeypatch.setattr("sfumato.draws.noise.Lane", lambda *_, **__: iter([1 << 61] * 9))
    table.digits[0].tables = SimpleNamespace(weights=SimpleNamespace(shape=(1, (1 << 61) + 3)))  # type: ignore[misc]
    with pytest.raises(OverflowError, match="beyond"):
        table.draw(None, np.array([0]))  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [50, 1e4, 1e300])
def test_hardly_any_noise_takes_no_time(epsilon: float) -> None:
    """e^{−10^300} is never written down: the answer is the secret, but with a chance below e^{−ε}."""
    rate = Rate(Fraction(int(epsilon)), None)
    for fair in (False, True):
        made = noise(rate, fair=fair)
        assert made.words == 1 and int(made.digits[0].tables.weights[0, 0]) > 0
    drawn = sf.release.integer_noise(epsilon).draw(np.arange(100))
    assert drawn.tolist() == list(range(100))


# ----------------------------------------------------------------- staircases


@pytest.mark.parametrize("decay", [Fraction(1, 4), Fraction(2, 3), Fraction(10**30, 10**30 + 10**25)])
@pytest.mark.parametrize(("width", "high"), [(1, 1), (2, 1), (3, 3), (5, 2)])
def test_a_staircase_is_its_periods_times_its_offsets(decay: Fraction, width: int, high: int) -> None:
    """The chance of every value, exactly: that of its period times that of its side and place."""
    drawn = staircase_noise(decay, width, high)
    weights = [Fraction(int(weight), drawn.offsets.total) for weight in drawn.offsets.weights[0]]
    assert sum(weights) == 1 and drawn.periods.rate == Rate(None, decay)
    exact = sf.mechanisms.Staircase(decay, width, high)
    for value in range(-3 * width - 1, 3 * width + 2):
        period, place = divmod(value if value >= 0 else -1 - value, width)
        chance = (1 - decay) * decay**period * weights[place if value >= 0 else width + place]
        assert chance == exact.probability(value)


def test_staircases_that_are_not_drawn() -> None:
    with pytest.raises(NotSupported, match="periods of at most 65536"):
        staircase_noise(Fraction(1, 2), 2**16 + 1, 1)
    with pytest.raises(NotSupported, match="less than 2\\^-40 a step"):
        staircase_noise(1 - Fraction(1, 2**41), 3, 1)
