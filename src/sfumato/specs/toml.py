"""Tables as TOML. Python reads that format and does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import isinf
from typing import Any

from sfumato.errors import NotSupported

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MOST_DECIMALS = 12  # a fraction with more becomes a text such as "1/3"


def toml(tables: Mapping[str, Any]) -> str:
    """Tables of keys, one after another; ``tomllib`` reads back what was given.

    Fractions are written as numbers where few decimals say it exactly, else as texts.

    Examples
    --------
    >>> print(toml({"space": {"kind": "grid", "shape": [8, 8], "step": Fraction(1, 2)}}), end="")
    [space]
    kind = "grid"
    shape = [8, 8]
    step = 0.5
    """
    parts = []
    for name, table in tables.items():
        lines = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]
        parts.append("\n".join([f"[{_key(name)}]", *lines]) + "\n")
    return "\n".join(parts)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Fraction):
        return _fraction(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        return "inf" if isinf(value) else repr(float(value))
    if isinstance(value, list | tuple):
        return _list([_value(part) for part in value])
    if isinstance(value, Mapping):
        shown = (f"{_key(key)} = {_value(part)}" for key, part in value.items() if part is not None)
        return "{" + ", ".join(shown) + "}"
    raise NotSupported(f"a value of type {type(value).__name__} in a spec", ["texts, numbers, lists and tables"])


def _list(parts: list[str]) -> str:
    """On one line where it fits, else one line an item."""
    line = "[" + ", ".join(parts) + "]"
    if len(line) <= 100 or not any(part.startswith(("[", "{")) for part in parts):
        return line
    return "[\n" + "".join(f"    {part},\n" for part in parts) + "]"


def _text(value: str) -> str:
    """A basic string: JSON's escapes are TOML's, which also wants the delete character escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _fraction(value: Fraction) -> str:
    if value.denominator == 1 and abs(value.numerator) < 2**63:
        return str(value.numerator)
    scaled = value * 10**_MOST_DECIMALS
    if scaled.denominator == 1 and abs(scaled.numerator) < 10**18:
        digits = f"{Decimal(int(scaled)).scaleb(-_MOST_DECIMALS):f}".rstrip("0")
        return digits + "0" if digits.endswith(".") else digits
    return f'"{value}"'
