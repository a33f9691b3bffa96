from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest

import sfumato as sf
from sfumato.report.page_facts import facts_of
from sfumato.report.sections import PARTS, numbers, promise_section, proof_section
from sfumato.report.sections_words import epsilon_words, odds, odds_at, scales


def said(part: str, facts: object) -> str:
    return PARTS[part][1](facts).replace("\xa0", " ")  # type: ignore[arg-type]


def spelled(space: sf.FiniteSpace, epsilon: str = "1") -> list[str]:
    return [words for _, words in scales(sf.PrivacyType(space, epsilon=epsilon))]


def test_scales_are_those_of_people_or_of_the_space() -> None:
    town = sf.grid(9, 9, step="1/2", unit="km")
    assert spelled(town)[:4] == ["100 m", "500 m", "1 km", "5 km"]
    metres = sf.grid(2, 2, step=300, unit="m")
    assert spelled(metres, "1/1000")[:3] == ["10 m", "50 m", "100 m"]
    assert spelled(sf.discrete(4)) == ["1, the farthest two"]
    wide = spelled(sf.line(1000))
    assert len(wide) <= 5
    assert wide[-1] == "999, the farthest two"
    assert scales(sf.PrivacyType(sf.FiniteSpace(["a"], [[0]]), epsilon=1)) == []
    apart = sf.graph([("a", "b")], labels=["a", "b", "c"])
    assert spelled(apart) == ["1, the farthest two"]


@pytest.mark.parametrize("rate", ["1/100000", "1/100", "1/2", "3", "700"])
@pytest.mark.parametrize("unit", ["m", "km"])
def test_factors_stand_where_they_say_something(rate: str, unit: str) -> None:
    """None is nearly 1 if others are not, and none has digits that nobody reads; an example is one of them."""
    privacy = sf.PrivacyType(sf.grid(5, 5, step=2, unit=unit), epsilon=rate)
    found = scales(privacy)
    assert 1 <= len(found) <= 5 and found[-1][1].endswith("the farthest two")
    for length, words in found:
        factor = odds_at(privacy, length)[0]
        assert factor.startswith("10") or float(factor.replace(",", "")) <= 10_000, (words, factor)
        assert len(factor) <= 9 and not any("/" in part for part in (words, factor))
    inside = [float(privacy.rate * float(length)) for length, _ in found[:-1]]
    assert all(exponent <= 7 for exponent in inside) or rate == "700"


@pytest.mark.parametrize("rate", ["0.02", "0.5", "3"])
def test_factors_are_rounded_up(rate: str) -> None:
    space = sf.grid(3, 3, unit="km")
    made = sf.exponential(sf.PrivacyType(space, epsilon=rate))
    text = said("promise", facts_of(made))
    shown = float(text.split("makes one at most ")[1].split(" times")[0].replace(",", ""))
    assert exp(float(rate)) <= shown <= exp(float(rate)) * 1.01
    within = float(text.split("less than ")[1].split(" km")[0])
    assert 0.98 * log(2) / float(rate) <= within <= log(2) / float(rate)


def test_rational_promises_stay_rational() -> None:
    line = sf.line(4, unit="step")
    text = said("promise", facts_of(sf.geometric(sf.PrivacyType(line, alpha="1/2"))))
    assert "makes one at most 2 times as likely" in text
    assert "less than 1 step apart" in text
    assert "<td class=n>66.7 %</td>" in text
    assert epsilon_words(sf.PrivacyType(line, alpha="1/2")) == "ε = ln 2 = 0.6931 per step"
    assert epsilon_words(sf.PrivacyType(line, alpha=Fraction(10**9 + 7, 10**10))) == "ε = 2.303 per step"
    assert (odds(Fraction(1)), odds(Fraction("1.05"))) == ("1", "1.05")


def test_an_optimum_is_called_one() -> None:
    line = sf.line(3)
    exact = sf.design(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/2"))
    facts = facts_of(exact)
    assert "so this mechanism is the best there is" in said("cost", facts)
    assert "certified: the best there is" in numbers(facts)
    assert "The best of them, geometric, loses as little." in said("comparison", facts)


def test_worst_cases_are_said_to_be_some() -> None:
    line = sf.line(4)
    made = sf.design(None, sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/2"), objective="worst secret")
    text = said("cost", facts_of(made, compare=False))
    assert "Whatever the secret, the expected loss is at most" in text
    assert "for the hardest prior" in text


def test_a_poor_mechanism_hears_that_others_lose_less() -> None:
    line = sf.line(5)
    privacy = sf.PrivacyType(line, epsilon=1)
    prior, loss = sf.Prior.uniform(line), sf.losses.absolute(line)
    text = said("comparison", facts_of(sf.exponential(privacy), prior=prior, loss=loss))
    assert "geometric, loses less" in text


def test_the_certificate_quotes_names_for_the_shell() -> None:
    facts = facts_of(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")))
    text = proof_section(facts, "my file; rm -rf.sfm")
    assert "sfumato verify &#x27;my file; rm -rf.sfm&#x27;" in text
    assert facts.mechanism.proof.digest in text
    assert "nothing beside the promise" in text


@pytest.mark.parametrize("rate", ["1e-9", "3000", "100000000"])
def test_extreme_promises_can_be_told(rate: str) -> None:
    space = sf.grid(2, 2, unit="km")
    facts = facts_of(sf.random_response(sf.PrivacyType(space, epsilon=rate)))
    text = said("promise", facts) + said("tightest", facts)
    assert ("10⁴³⁴²⁹⁴⁴⁹" in text) == (rate == "100000000")
    assert len(text) < 10_000


def test_pairs_that_nothing_is_promised_about_are_counted() -> None:
    islands = sf.graph([(0, 1)], labels=[0, 1, 2])
    half = sf.prove([[2, 1, 0], [1, 2, 0], [0, 0, 3]], sf.PrivacyType(islands, alpha="1/2"))
    assert "Nothing is promised about 2 pairs of 3 secrets" in promise_section(facts_of(half))
    whole = sf.prove([[2, 1], [1, 2]], sf.PrivacyType(sf.line(2), alpha="1/2"))
    assert "Nothing is promised" not in promise_section(facts_of(whole))
