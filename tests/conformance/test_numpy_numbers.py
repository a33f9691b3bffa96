"""Every public function, constructor and method takes NumPy's numbers, of every width, for the numbers they are.

An integer of fixed width overflows, and a ``Fraction`` made of two of them is a rational to everybody who asks: exact
mathematics would go wrong in silence. Integers become Python's where they come in. A call is made once with Python's
numbers and once with NumPy's: what comes of both is the same, and holds no fraction made of NumPy's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import sfumato as sf
from effort import THOROUGH
from public_names import WITH_PEERS, public_callables
from sfumato.errors import SfumatoError
from valid_calls import CALLS

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.draws.InsecureSeed")  # what a seed is for is told by a warning

CALLABLES = {name: called for name, called in public_callables().items() if name not in WITH_PEERS}
WIDTHS: tuple[type[Any], ...] = (
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip
FLOATS: tuple[type[Any], ...] = (np.float16, np.float32, np.float64, np.longdouble)

DRAWN = {"compare_known", "draw", "hide", "release", "release_file", "release_table", "sample", "words"}
"""What draws or is timed, and answers differently each time."""


def of_width(value: int, width: type[Any]) -> Any:
    """An integer of that width, or of the largest where it does not fit."""
    fits = np.iinfo(width).min <= value <= np.iinfo(width).max
    return width(value) if fits else np.int64(value) if abs(value) < 2**63 else value


def fraction_of(value: Fraction, width: type[Any]) -> Fraction:
    """A fraction whose numerator and denominator have that width."""
    if max(abs(value.numerator), value.denominator) >= 2**63:
        return value
    made = Fraction(of_width(value.numerator, width), of_width(value.denominator, width))
    assert isinstance(made.numerator, np.integer)
    return made


def spelled(value: Any, width: type[Any], quotients: bool) -> Any:
    """The same argument with NumPy's numbers, and with fractions of them where asked."""
    if type(value) is int:
        return fraction_of(Fraction(value), width) if quotients else of_width(value, width)
    if isinstance(value, Fraction):
        return fraction_of(value, width)
    if type(value) is float:
        exact = [kind for kind in FLOATS if float(kind(value)) == value]
        return exact[crc32(str(width).encode()) % len(exact)](value)
    if isinstance(value, str) and set(value) <= set("0123456789/") and value.count("/") == 1:
        return fraction_of(Fraction(value), width)
    if isinstance(value, np.ndarray) and value.dtype == object:
        found = np.empty(value.shape, dtype=object)
        found.flat = [spelled(v, width, quotients) for v in value.ravel().tolist()]
        return found
    if type(value) in (list, tuple):
        return type(value)(spelled(v, width, quotients) for v in value)
    if type(value) is dict:
        return {key: spelled(v, width, quotients) for key, v in value.items()}
    return value


def numbers_in(value: Any, depth: int = 6, seen: set[int] | None = None) -> Iterator[tuple[type[Any], Any]]:
    """All numbers that a result holds, with the Python type that they count as."""
    seen = set() if seen is None else seen
    if isinstance(value, Fraction):
        assert type(value.numerator) is int and type(value.denominator) is int, f"made of NumPy's integers: {value!r}"
        yield (int, value.numerator) if value.denominator == 1 else (Fraction, value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield np.ndarray, value.tolist()
    elif isinstance(value, float):  # np.float64 is one
        yield float, float(value)
    elif isinstance(value, bool | int | np.generic):
        yield type(value), value
    elif depth and id(value) not in seen:
        seen.add(id(value))
        if isinstance(value, dict):
            members = list(value.values())
        elif isinstance(value, list | tuple | np.ndarray):
            members = list(value)
        elif is_dataclass(value) and not isinstance(value, type):
            members = [getattr(value, field.name) for field in fields(value) if field.name != "seconds"]
        else:
            return
        for member in members[:200]:
            yield from numbers_in(member, depth - 1, seen)


def answer(called: Callable[..., Any], positional: Any, named: Any) -> Any:
    try:
        return list(numbers_in(called(*positional, **named)))
    except SfumatoError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CALLABLES)
def test_numbers_of_numpy_mean_what_they_are(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = CALLS[name]()
    meant = answer(CALLABLES[name], given.positional, given.named)
    again = CALLS[name]()
    repeats = answer(CALLABLES[name], again.positional, again.named) == meant  # seconds and new keys differ
    same = repeats and name.rsplit(".", 1)[-1] not in DRAWN
    first = crc32(name.encode()) % len(WIDTHS)
    for width in WIDTHS if THOROUGH else (WIDTHS[first],):
        for quotients in (False, True):
            given = CALLS[name]()
            positional, named = (spelled(value, width, quotients) for value in (given.positional, given.named))
            found = answer(CALLABLES[name], positional, named)
            whole = isinstance(found, str) and quotients  # a number of things is no fraction, whatever it is made of
            assert whole or not same or repr(found) == repr(meant), (width, quotients)


# ----------------------------------------------------------------- what went wrong once


def test_counts_of_numpy_over_their_total_are_exact_shares() -> None:
    counts = np.array([[2**40 + 1, 2**41 + 3], [2**39 + 7, 2**40 + 5]])
    shares = [[Fraction(v, row.sum()) for v in row] for row in counts]
    meant = [[Fraction(int(v), int(row.sum())) for v in row] for row in counts]
    for given in (shares, np.array(shares), iter(map(tuple, shares))):
        assert sf.Channel([0, 1], given).matrix.tolist() == meant
    weights = [Fraction(v, counts[0].sum()) for v in counts[0]]
    prior, channel = sf.Prior([0, 1], weights), sf.Channel([0, 1], shares)
    plain = sf.Prior([0, 1], meant[0]), sf.Channel([0, 1], meant)
    assert sf.bayes_vulnerability(prior, channel) == sf.bayes_vulnerability(*plain)
    assert repr(sf.capacity(channel)) == repr(sf.capacity(plain[1]))


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_that_are_integers_of_fixed_width_do_not_overflow(width: type[Any]) -> None:
    secrets = [width(0), width(100), width(120)]
    assert sf.losses.squared(secrets).matrix.tolist() == sf.losses.squared([0, 100, 120]).matrix.tolist()
