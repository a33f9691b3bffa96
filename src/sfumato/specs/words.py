"""Promises and losses in words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.certify import Mechanism
from sfumato.design.objectives import Objective
from sfumato.numbers import bounds_text, text_above
from sfumato.privacy import PrivacyType
from sfumato.report.sections_words import farthest, odds_at, odds_factor
from sfumato.spaces import FiniteSpace
from sfumato.spaces.box import Box, as_box
from sfumato.spaces.earth import ground_range
from sfumato.spaces.lengths import METRES
from sfumato.specs.question import Question

_LONGEST_FRACTION = 24  # letters
FEW_SECRETS = 100
"""Up to so many a promise says what it means for the farthest two. More are mostly places, of which nobody asks it."""

_LARGEST_EXPONENT = 9.2103  # of a factor that people still picture: beyond 10,000 it is a power of ten


def per(space: FiniteSpace | Box) -> str:
    """The unit after ε."""
    return f" per {space.unit}" if space.unit else ""


def promised(privacy: PrivacyType) -> str:
    """A promise, and what it means for two secrets one unit apart, and among few for the farthest two.

    Examples
    --------
    >>> from sfumato.privacy import PrivacyType
    >>> from sfumato.spaces import line
    >>> print(promised(PrivacyType(line(3, unit="km"), alpha="1/2")))
    alpha = 1/2 per km: at 1 km, no output is more than 2 times as likely for one secret as for the other, and none is
    more than 4 times at 2 km, between the farthest two
    """
    return _PROMISED[privacy.space.about](privacy)


def _promised_on_a_list(privacy: PrivacyType) -> str:
    unit, count = privacy.space.unit, privacy.space.open_pairs
    if count and not len(privacy.space.pairs.first):
        return "nothing is promised: no two secrets have a finite distance"
    value, factor = _promise_parts(privacy)
    where = f"at 1 {unit}" if unit else "at distance 1"
    return (
        f"{value}{per(privacy.space)}: {where}, no output is more than {factor} times as likely for one secret as for "
        f"the other{_at_the_farthest(privacy)}"
        + (f"; nothing is promised about {count} pairs of secrets, which no path joins" if count else "")
        + _about_cells(privacy.space)
    )


def _at_the_farthest(privacy: PrivacyType) -> str:
    found = farthest_two(privacy)
    return f", and none is more than {found[0]} times at {found[1]}, between the farthest two" if found else ""


def farthest_two(privacy: PrivacyType) -> tuple[str, str] | None:
    """The factor that a promise leaves for the farthest two of few secrets, and how far they are apart.

    That is what the promise means for all of them; None for many, or where no two are farther apart than 1.
    """
    apart, unit = farthest_of_few(privacy.space), privacy.space.unit
    where = f"{text_above(apart, 4)} {unit}" if unit in METRES else f"distance {text_above(apart, 4)}"
    return None if apart in (0, 1) else (factor_words(privacy, apart), where)


def farthest_of_few(space: FiniteSpace) -> Fraction:
    """How far the farthest two of few secrets are apart, 0 for many."""
    return farthest(space) if len(space) <= FEW_SECRETS else Fraction(0)


def _about_cells(space: FiniteSpace) -> str:
    """What people on the Earth are taken for, since the promise is about that."""
    if space.ground is None:
        return ""
    cells = space.ground.cells
    return "; secrets are " + ("places" if cells is None else cells.words) + ", and the promise is about these"


def _promise_parts(privacy: PrivacyType) -> tuple[str, str]:
    """ε or α, and the factor at distance one."""
    return _value_words(privacy), factor_words(privacy, Fraction(1))


def _value_words(privacy: PrivacyType) -> str:
    return f"epsilon = {_short(privacy.epsilon)}" if privacy.epsilon is not None else f"alpha = {privacy.alpha}"


def rate_words(privacy: PrivacyType) -> str:
    """ε or α of a promise, for which unit."""
    return f"{_value_words(privacy)}{per(privacy.space)}"


def factor_words(privacy: PrivacyType, distance: Fraction) -> str:
    """By how much likelier an output may be at a distance, rounded up; to a power of ten where nobody pictures it."""
    exponent = privacy.rate_bounds(64)[1] * distance
    if exponent < _LARGEST_EXPONENT:
        return text_above(odds_factor(privacy, distance), 4)
    return odds_at(privacy, distance)[0]


def _promised_on_a_box(privacy: PrivacyType) -> str:
    box = as_box(privacy.space)
    value, factor = _promise_parts(privacy)
    unit, where = (f" per {box.unit}", f"1 {box.unit}") if box.unit else ("", "distance 1")
    surface = box.surface
    return (
        f"{value}{unit}{surface.aim}, about coordinates: at {where} ({surface.norm}), no output is more than "
        f"{factor} times as likely for one point as for the other, and at every smaller distance in proportion"
    )


_PROMISED = {"secrets": _promised_on_a_list, "coordinates": _promised_on_a_box}
"""The words of a promise, by what it is about."""


def loss_amount(value: Fraction, question: Question, rounded: Callable[[Fraction, int], str] | None = None) -> str:
    """A loss with its unit; where that is short and says more, the fraction, and its nearest decimal beside it.

    A bound comes with what rounds it to its side: :func:`~sfumato.numbers.text_above` or ``text_below``.
    """
    unit = f" {question.space.unit}" if question.space.unit and question.family.lengths(question) else ""
    nearest, exact = f"{float(value):.6g}", str(value)
    if Fraction(nearest) == value or len(exact) > _LONGEST_FRACTION:
        return f"{nearest if rounded is None else rounded(value, 6)}{unit}"
    return f"{exact} = {nearest}{unit}"


def stake(question: Question) -> str:
    """What the loss is, and in which unit where a query has two: that of its answer, or people.

    Examples
    --------
    >>> from sfumato.specs.families import as_question
    >>> from sfumato.specs.spec import spec_from_values
    >>> total = {"kind": "sum_query", "individuals": 10, "largest": 3}
    >>> stake(as_question(spec_from_values({"space": total})))
    'expected absolute error of the answer'
    >>> stake(as_question(spec_from_values({"space": total, "loss": {"kind": "distance"}})))
    'expected distance between action and secret, in people who must change'
    """
    return question.family.stake(question)


def meaning(question: Question) -> str:
    """What the loss is, and what it would be if nothing were disclosed."""
    return question.family.meaning(question)


def estimates_words(objective: Objective) -> str:
    """What a variance is one of."""
    where = "the worst mixture of the given distributions" if objective.priors else "the guessed distribution"
    return f"the total variance of unbiased estimates of {objective.workload.name} from N answers, at {where}"


def _short(value: Fraction) -> str:
    exact = str(value)
    return f"{float(value):g}" if float(f"{float(value):g}") == float(value) or len(exact) > 12 else exact


def on_events(mechanism: Mechanism, question: Question) -> str:
    """A promise about events: its name, and for how many pairs it was proved."""
    return f"{question.under[0].name}: every event, for {mechanism.proof.events} ordered pairs of secrets"


def ground_length(value: Fraction, box: Box) -> str:
    """What a length on the map of a box can be on the ground, after it; empty for a box that is its own ground.

    Examples
    --------
    >>> from sfumato.spaces.earth import earth_box
    >>> ground_length(Fraction("1.85"), earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m"))
    ', which is 1.85 to 1.854 km on the ground'
    """
    aim = box.surface.aim
    if not aim:
        return ""
    least, most = bounds_text(*ground_range(value, box), 4)
    return f", which is {least} to {most} {box.unit}{aim}"
