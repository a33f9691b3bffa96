"""Tables at e^(epsilon·d): the largest ratio that a promise allows, to the last of up to 250 digits, and one more.

Two rows p, T − p and T − p, p keep a factor g where p ≤ T·g/(1 + g). The largest such p is found with balls of FLINT,
so that what is just true and what is just false is known, without a line of sfumato.
"""

from __future__ import annotations

import random
from fractions import Fraction

import flint

from judge import Case, ball, exponent

DIGITS = 250
_BITS = 8 * DIGITS  # of the balls: far more than the digits of a total and of its exponent together
_NEAR = 50  # by this many bits what is owed to be proved stays below: checkers look at 62


def tight_table(seed: int) -> tuple[Case, bool]:
    """A case that is true or false by the last digit of a weight, and which of both; owed is what is true by a margin.

    Examples
    --------
    >>> case, true = tight_table(6)
    >>> len(case.weights), true
    (2, False)
    """
    rng = random.Random(seed)
    form = rng.choice(("rational", "root", "float"))
    distance = {"rational": rng.randint(1, 9), "root": rng.randint(1, 50), "float": rng.random() + 0.1}[form]
    unit = Fraction(1) if form == "float" else rng.choice((Fraction(1), Fraction(1, 3), Fraction(5, 2)))
    epsilon = Fraction(rng.randint(1, 10**9), rng.choice((10**8, 10**9, 10**12, 3**19)))
    case = Case(((1, 1), (1, 1)), form, unit, {(0, 1): distance}, {"epsilon": epsilon})
    total = 10 ** rng.choice((15, 20, 40, 100, DIGITS)) + rng.randrange(10**6)
    with flint.ctx.workprec(_BITS):
        growth = exponent(case, distance).exp()
        most = ball(Fraction(total)) * growth / (1 + growth)
        largest = int(most.floor().unique_fmpz())
    kind = rng.choice(("by a margin", "just", "not"))
    p = {"by a margin": largest - (total >> _NEAR) - 1, "just": largest, "not": largest + 1}[kind]
    p = max(p, -(-total // 2)) if kind != "not" else p
    if not 0 < p < total:  # so steep that the other weight would be none
        p, kind = total - 1, "just"
    rows = ((p, total - p), (total - p, p))
    return Case(rows, form, unit, {(0, 1): distance}, {"epsilon": epsilon}, owed=kind == "by a margin"), kind != "not"
