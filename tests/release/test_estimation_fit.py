"""The test of fit keeps its level for every small number of rows, and tells what a mechanism never released."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

import sfumato as sf
from sfumato.numbers import Floats, floats
from sfumato.release.estimation.cross import cross_table
from sfumato.release.estimation.estimates import frequencies
from sfumato.release.estimation.fit import any_of, fit_of

SCALE = floats(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/4")).channel.matrix)
WIDE = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])


def outcomes(outputs: int, rows: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(rows + 1), repeat=outputs) if sum(counts) == rows]


def of_a_sample(chances: Floats, counts: tuple[int, ...]) -> float:
    ways = factorial(sum(counts)) // prod(map(factorial, counts))
    return ways * float(np.prod(chances ** np.array(counts)))


def of_given_rows(matrix: Floats, rows: list[int]) -> dict[tuple[int, ...], float]:
    """How likely each count is if these are the secrets of the rows."""
    found = {(0,) * matrix.shape[1]: 1.0}
    for secret in rows:
        longer: dict[tuple[int, ...], float] = {}
        for counts, chance in found.items():
            for y, part in enumerate(matrix[secret]):
                more = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                longer[more] = longer.get(more, 0.0) + chance * part
        found = longer
    return found


@pytest.mark.parametrize(("matrix", "rows"), [(SCALE, 20), (WIDE, 9)], ids=["square", "wide"])
def test_no_more_surveys_fit_badly_than_the_chance_says(matrix: Floats, rows: int) -> None:
    """P(chance ≤ a) ≤ a for every a, whatever the shares, for a sample and for given people: over all outcomes."""
    secrets = len(matrix)
    chance = {counts: fit_of(matrix, np.array(counts)).chance for counts in outcomes(matrix.shape[1], rows)}
    assert min(chance.values()) < 0.05
    cases = [{c: of_a_sample(p @ matrix, c) for c in chance} for p in [np.ones(secrets) / secrets, *np.eye(secrets)]]
    cases += [
        of_given_rows(matrix, [i % secrets for i in range(rows)]),
        of_given_rows(matrix, [0] * 3 + [1] * (rows - 3)),
    ]
    for likely in cases:
        assert sum(likely.values()) == pytest.approx(1)
        for level in set(chance.values()):
            assert sum(p for counts, p in likely.items() if chance[counts] <= level) <= level + 1e-12


def test_true_answers_do_not_fit_and_released_ones_do() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    shares = np.array([0.48, 0.02, 0.02, 0.48])
    narrow = sf.geometric(privacy).channel
    wide = sf.mechanisms.subset_selection(sf.PrivacyType(sf.discrete(4), epsilon=1), 2).channel
    rng = np.random.default_rng(5)
    for channel in (narrow, wide):
        released = rng.multinomial(2000, shares @ floats(channel.matrix))
        for method in ("unbiased", "likelihood"):
            assert not frequencies(channel, released, method=method).fit.doubtful
    assert frequencies(narrow, np.array([960, 40, 40, 960])).fit.refused
    assert "was this column released" in str(frequencies(narrow, np.array([960, 40, 40, 960])))
    # six outputs, of which one pair is never seen: every share is positive, and no shares give that
    strange = np.array([400, 400, 0, 400, 400, 400])
    assert (frequencies(wide, strange).weights > -0.5).all() and frequencies(wide, strange).fit.refused


def test_tables_of_several_questions_fit_together_or_one_by_one() -> None:
    response = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1)).channel
    alike = np.array([[100, 0], [0, 100]])
    assert cross_table([response] * 2, alike).fit.refused
    many = [response] * 10  # a product of a million entries: each question is looked at alone
    rows = [["no"] * 100] * 10
    assert cross_table(many, rows).fit == any_of([fit_of(floats(response.matrix), np.array([100, 0]))] * 10)
