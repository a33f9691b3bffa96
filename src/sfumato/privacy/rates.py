"""Rational rates for boxes: which ε per unit of coordinates keeps a promise, and which one every mechanism of it keeps.

On a plain box both are ε. On the Earth the map stretches distances on the ground by k_min up to k_max: what keeps
ε / k_max on the map keeps ε on the ground, and what keeps ε on the ground keeps ε / k_min on the map
(``docs/theory/coordinates_on_the_earth.md``). An irrational ε, such as ln 2, gives way to a rational beside it.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.earth import ground_stretch

# A rational is looked for within this part of an irrational rate: it has nine digits above and below, which keeps the
# integers of a proof small, and loses nothing that anybody could measure.
_BESIDE = Fraction(1, 2**58)
_BITS = 96  # of logarithms, far more precise than that


def box_rate(privacy: PrivacyType) -> Fraction:
    """A rational that ε‖x − x′‖ may be proved with on the box: ε over the largest stretch, or just below it.

    Examples
    --------
    >>> from sfumato.spaces import box
    >>> box_rate(PrivacyType(box((1,), step="1/4"), epsilon="7/2"))
    Fraction(7, 2)
    >>> box_rate(PrivacyType(box((1,), step="1/4"), alpha="1/2"))
    Fraction(385107953, 555593334)
    """
    privacy, box = as_box_type(privacy)
    most = ground_stretch(box)[1]
    if privacy.epsilon is not None:
        return privacy.epsilon / most
    below = privacy.rate_bounds(_BITS)[0] / most
    return simplest(below * (1 - _BESIDE), below)


def bound_promise(privacy: PrivacyType) -> dict[str, Fraction]:
    """What every mechanism of a promise keeps on the map: ``epsilon`` or ``alpha`` of a :class:`PrivacyType` on points.

    On a plain box it is the promise itself, on the Earth a rational at or just above ε over the smallest stretch.

    Examples
    --------
    >>> from sfumato.spaces import box
    >>> bound_promise(PrivacyType(box((1,), step="1/4"), alpha="1/2"))
    {'alpha': Fraction(1, 2)}
    """
    privacy, box = as_box_type(privacy)
    least = ground_stretch(box)[0]
    if least == 1 and privacy.alpha is not None:
        return {"alpha": privacy.alpha}
    if privacy.epsilon is not None:
        return {"epsilon": privacy.epsilon / least}
    above = privacy.rate_bounds(_BITS)[1] / least
    return {"epsilon": simplest(above, above * (1 + _BESIDE))}


def bound_rate(privacy: PrivacyType) -> Fraction:
    """A rational at or just above the ε of :func:`bound_promise`."""
    kept = bound_promise(privacy)
    return kept["epsilon"] if "epsilon" in kept else privacy.rate_bounds(_BITS)[1]


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The rational of the smallest denominator in an interval of positive numbers.

    Examples
    --------
    >>> simplest(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    down = whole - 1
    return down + 1 / simplest(1 / (high - down), 1 / (low - down))
