from __future__ import annotations

from fractions import Fraction
from math import exp, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.errors import InvalidEpsilon
from sfumato.numbers import as_written, log_bounds
from sfumato.privacy.promise import EpsilonOrAlpha, part_of, promise, rate, rate_bounds
from sfumato.specs.families import as_question
from sfumato.specs.spec import spec_from_values

EXACT = {
    "ln 2": Fraction(1, 2),
    "ln(2)": Fraction(1, 2),
    "  ln ( 2 ) ": Fraction(1, 2),
    "log(3)*2": Fraction(1, 9),
    "2*ln(3)": Fraction(1, 9),
    "2 * ln 3": Fraction(1, 9),
    "ln(4)/2": Fraction(1, 2),
    "1/2*ln(4)": Fraction(1, 2),
    "ln(4)*1/2": Fraction(1, 2),
    "ln(9/4)/2": Fraction(2, 3),
    "ln(1.5)": Fraction(2, 3),
    "ln 1.5": Fraction(2, 3),
    "ln(10)*3/3": Fraction(1, 10),
    "ln(1e3)": Fraction(1, 1000),
}


@pytest.mark.parametrize("text", EXACT)
def test_logarithms_with_a_rational_alpha_are_exact(text: str) -> None:
    assert promise(text, None) == EpsilonOrAlpha(None, EXACT[text])
    assert float(rate(text)) == pytest.approx(-log(EXACT[text]), rel=1e-14)


@given(st.integers(2, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_other_logarithms_are_rounded_down_and_hardly(base: int, above: int, under: int) -> None:
    """What is promised is never weaker than what was written: ε ≤ c·ln b, and by less than 10^-14 of it."""
    share, text = Fraction(above, under), f"ln({base})*{above}/{under}"
    rounded, (low, high) = rate(text), log_bounds(Fraction(base), 128)
    assert share * low * (1 - Fraction(1, 10**14)) < rounded <= share * high
    epsilon, alpha = promise(text, None)
    assert (
        epsilon == rounded if alpha is None else Fraction(base) ** share.numerator == (1 / alpha) ** share.denominator
    )
    around = rate_bounds(text)
    assert rounded <= around[0] <= share * high and share * low <= around[1]


@given(st.sampled_from([*EXACT, "ln(7)*3/5", "0.7", "1/3"]), st.integers(1, 40))
def test_so_many_parts_keep_the_whole_together_and_waste_nothing(text: str, parts: int) -> None:
    whole = promise(text, None)
    part = part_of(whole, parts)
    together, asked = parts * amount(**part._asdict()), amount(**whole._asdict())
    assert together <= asked and float(asked - together) <= 1e-13 * float(asked)
    assert part.alpha is None or together == asked


def test_a_factor_of_two_at_thirty_km_is_kept_there() -> None:
    space = sf.line(31, unit="km")
    privacy = sf.PrivacyType(space, epsilon="ln(2)/30")
    assert privacy.factor(0, 30)[1] <= 2 and float(privacy.factor(0, 30)[0]) == pytest.approx(2, rel=1e-13)


@pytest.mark.parametrize("text", ["0.7", "1/3", " 2 ", "1e-3", "-1"])
def test_numbers_are_taken_for_what_is_written(text: str) -> None:
    assert promise(text, None) == EpsilonOrAlpha(as_written(text), None) == EpsilonOrAlpha(Fraction(text.strip()), None)


@pytest.mark.parametrize(("text", "complaint"), [
    ("ln 2/30", "in two ways: say with parentheses"),
    ("ln 3/2", "in two ways: say with parentheses"),
    *((text, "epsilon must be positive") for text in ("ln(1)", "ln(1/2)", "0*ln(2)")),
    ("ln(2/0)", "divided by 0"), ("ln(2)/0", "divided by 0"), ("1/0*ln(2)", "divided by 0"),
    *((text, "must be a number such as 2") for text in (
        "", "ln", "ln()", "ln(2", "ln 2)", "ln2", "ln(-2)", "-ln(2)", "ln(2)+1", "ln(2)**2", "ln(ln(2))", "exp(1)",
        "log10(2)", "ln(2)/", "ln(2) per km", "__import__('os')", "ln(" + "2" * 500 + ")", "1/0", "nan", "inf", "e",
    )),
])  # fmt: skip
def test_anything_else_is_refused_in_words(text: str, complaint: str) -> None:
    for read in (lambda epsilon: promise(epsilon, None), rate, rate_bounds):
        with pytest.raises(InvalidEpsilon, match=complaint) as caught:
            read(text)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", ["ln(2)*10000", "ln(1e300)*1e300", "ln(1.0000000001)/1e300", "ln(2)/123456789"])
def test_sizes_do_not_matter_to_reading(value: str) -> None:
    epsilon = promise(value, None).epsilon
    assert epsilon is not None and epsilon > 0 and len(str(epsilon.numerator)) < 1000


def test_specs_read_them_too() -> None:
    def promised(epsilon: Any) -> sf.PrivacyType:
        told = {"space": {"kind": "line", "n": 3, "unit": "km"}, "privacy": {"epsilon": epsilon, "per": "km"}}
        privacy = as_question(spec_from_values(told)).privacy
        assert privacy is not None
        return privacy

    assert promised("log(3)*2").alpha == Fraction(1, 9)
    assert exp(30 * promised("ln(2)/30").rate) == pytest.approx(2)
    with pytest.raises(sf.errors.InvalidInput, match=r"key 'epsilon' in \[privacy\]: .* in two ways"):
        promised("ln 2/30")
