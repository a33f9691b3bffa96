"""From what people say about hiding (metres, a rate) to the table ``[privacy]`` of a spec."""

from __future__ import annotations

import re
from fractions import Fraction
from math import log
from typing import Any

from sfumato.certify.amounts import Amount, amount
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.hide.wish import Wish
from sfumato.privacy.promise import part_of, promise
from sfumato.spaces.lengths import METRES, as_length, in_unit

_PER = re.compile(r"(?P<rate>.+?)\s*(?:\bper\b|/)\s*(?P<unit>[^\W\d_][^()]*)")
_NOISE_LOSS = 2  # over ε is what planar Laplace noise loses
_CLOSEST = Fraction(1, 10**6)  # metres: nobody means less, and a number without its unit may


def privacy_table(wish: Wish, unit: str, earth: bool = False) -> dict[str, Any]:
    """What is promised, as a spec says it: the distance at which odds double, or ε for the unit of the box.

    Where an error is wished for, it is about the ε whose noise loses as much; a search begins there. On the Earth a
    distance and a rate both say their unit; in a plane a number alone is for the unit of the columns.

    Examples
    --------
    >>> privacy_table(Wish(hide="500 m", box="…"), "km"), privacy_table(Wish(epsilon="0.5 per km", box="…"), "km")
    ({'double_at': '500 m'}, {'epsilon': Fraction(1, 2)})
    >>> privacy_table(Wish(epsilon="1 per mi", box="…"), "km")["epsilon"] == Fraction(1000, 1609344) * 1000
    True
    """
    if wish.epsilon is not None:
        return {"epsilon": _rate(wish.epsilon, unit, earth)}
    name = "error" if wish.hide is None else "hide"
    given = getattr(wish, name)
    length = as_length(given, keyword(name))
    if earth and not length.unit:
        raise InvalidInput(f"{keyword(name)}: {shown(given)} what? Write '{length} m' or '{length} km'")
    apart = length.into(unit, keyword(name))
    if apart <= 0 or (unit in METRES and apart * METRES[unit] < _CLOSEST):
        raise InvalidInput(f"{keyword(name)} is a positive distance such as '500 m', found {shown(given)}")
    if name == "error":
        return {"epsilon": Fraction(_NOISE_LOSS / apart).limit_denominator(10**6)}
    return {"double_at": str(length) if length.unit else length.number}


def _rate(epsilon: Any, unit: str, earth: bool) -> Any:
    """ε for one unit of the box, from a number for it or for another length; a logarithm stays one."""
    match = _PER.fullmatch(epsilon.strip()) if isinstance(epsilon, str) else None
    if match is None:
        promise(epsilon, None)
        if earth:
            raise InvalidInput(
                f"{keyword('epsilon')}: {shown(epsilon)} per what? Write '{epsilon} per km' or '{epsilon} per mi'"
            )
        return epsilon if isinstance(epsilon, str) else Fraction(str(epsilon))
    written, other = match["rate"].strip(), match["unit"].strip()
    factor = 1 / in_unit(f"1 {other}", unit, f"the unit of {keyword('epsilon')}")
    if "l" in written:  # a logarithm
        promise(written, None)
        return written if factor == 1 else f"{written}*{factor.numerator}/{factor.denominator}"
    rate = promise(written, None).epsilon
    assert rate is not None
    return rate * factor


def rate_of_table(table: dict[str, Any], unit: str) -> float:
    """ε per unit of the box as a float, for the choice of cells."""
    if "double_at" in table:
        return log(2) / float(in_unit(table["double_at"], unit))
    found = promise(table["epsilon"], None)
    return float(found.epsilon) if found.epsilon is not None else -log(float(found.alpha or 1))


def amount_of_table(table: dict[str, Any], unit: str, parts: int = 1) -> Amount:
    """What one row costs, as a ledger adds it up; so many keep the promise together.

    Examples
    --------
    >>> print(amount_of_table({"double_at": "500 m"}, "km"), amount_of_table({"double_at": "500 m"}, "km", 2))
    ln(4) ln(2)
    """
    rate = table.get("epsilon")
    if rate is None:
        apart = in_unit(table["double_at"], unit)
        rate = f"ln(2)*{apart.denominator}/{apart.numerator}"
    return amount(**part_of(promise(rate, None), parts)._asdict())
