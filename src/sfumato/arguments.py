"""Arguments as people give them: the checks that several rooms share, one sentence each for what cannot be used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence, Sized
from fractions import Fraction
from itertools import islice
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, NotSupported, in_one_line, shown

MOST_ITEMS = 10_000_000
"""Labels, rows or numbers in one argument: a space of a million cells has as many labels, and memory holds ten times
that. A list that does not end would otherwise be read until nothing is left."""


_LONGEST_NAME = 200  # of a file in a message
MOST_BITS = 1 << 20
"""Of an enclosure: three hundred thousand digits."""


def items(values: Any, what: str, error: type[InvalidInput] = InvalidInput) -> list[Any]:
    """The members of anything that lists them; text is one thing and not many.

    Integers of NumPy become Python's, which do not overflow, and so do the parts of fractions.

    Examples
    --------
    >>> items(range(3), "counts")
    [0, 1, 2]
    """
    if isinstance(values, np.ndarray):
        if values.ndim == 0:
            raise error(f"{what} must be a sequence, found the single value {shown(values.item())}")
        return _unbounded(values.tolist())
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise error(f"{what} must be a sequence, found {shown(values)}")
    if isinstance(values, Sized) and len(values) > MOST_ITEMS:
        raise NotSupported(f"{len(values)} {what}", [f"at most {MOST_ITEMS}"])
    listed = list(islice(values, MOST_ITEMS + 1))
    if len(listed) > MOST_ITEMS:
        raise NotSupported(f"more than {MOST_ITEMS} {what}", [f"at most {MOST_ITEMS}"])
    return _unbounded(listed)


def _unbounded(values: list[Any]) -> list[Any]:
    """The same with Python's integers in the place of those of fixed width, alone or in fractions."""
    kinds = set(map(type, values))
    if Fraction not in kinds and not any(issubclass(kind, np.integer) for kind in kinds):
        return values
    return [unbounded(value) for value in values]


def unbounded(value: Any) -> Any:
    """An integer of NumPy, or a fraction of such, as one of Python's; anything else as it is."""
    if isinstance(value, np.signedinteger | np.unsignedinteger) and value.dtype.kind != "m":
        return int(value)
    if isinstance(value, Fraction) and not type(value.numerator) is type(value.denominator) is int:
        return Fraction(int(value.numerator), int(value.denominator))
    return value


def integer(value: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """An integer within bounds: a seed, an index, how often something is tried."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or (least is not None and value < least) or (most is not None and value > most):
        low = "an integer" if least is None else f"an integer of at least {least}"
        high = "" if most is None else f" up to {most}" if least is None else f" and at most {most}"
        needed = "a positive integer" if (least, most) == (1, None) else low + high
        raise InvalidInput(f"{what} must be {needed}, found {shown(value)}")
    return int(value)


def flag(value: Any, what: str) -> bool:
    """True or False, and nothing that only resembles them."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{what} is True or False, found {shown(value)}")
    return bool(value)


def text(value: Any, what: str) -> str:
    """Text that can be written to a file or a page."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a text, found {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} has characters that cannot be written (lone surrogates): {shown(value)}") from None
    return value


def one_of(value: Any, choices: Sequence[str], what: str) -> Any:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise NotSupported(f"{what}{'' if what.endswith('=') else ' '}{shown(value)}", choices)
    return value


def positive(value: Any, what: str, *, zero: bool = False) -> float:
    """A finite float above 0: a tolerance, a time limit."""
    least = "at least 0" if zero else "above 0"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInput(f"{what} must be a number {least}, found {shown(value)}")
    try:
        result = float(value)
    except OverflowError:
        result = float("inf")
    if not isfinite(result) or result < 0 or (result == 0 and not zero):
        raise InvalidInput(f"{what} must be a finite number {least}, found {shown(value)}")
    return result


def callable_argument(value: Any, what: str) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise InvalidInput(f"{what} must be a function, found {shown(value)}")
    return value  # type: ignore[no-any-return]


def optional_function(value: Any, what: str) -> Callable[..., Any] | None:
    """Something that can be called, or None: a function that is told of progress."""
    return None if value is None else callable_argument(value, what)


def precision(bits: Any) -> int:
    """How many bits an enclosure is asked for."""
    return integer(bits, "the number of bits", 1, MOST_BITS)


def answer_of(question: Callable[..., Any], what: str, *arguments: Any, place: str = "") -> Any:
    """What a caller's function answers; whatever goes wrong in it is told with what it was asked."""
    try:
        return callable_argument(question, what)(*arguments)
    except InvalidInput:
        raise
    except Exception as error:  # the function is the caller's, and can fail in any way
        given = ", ".join(map(shown, arguments))
        raise InvalidInput(f"{what} failed on {place}{given}: {type(error).__name__}: {shown(str(error))}") from error


def refuse_masked(values: Any, what: str, error: type[InvalidInput] = InvalidInput) -> None:
    """Raise for an array of which entries are masked: NumPy would use the numbers that the mask hides."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise error(f"there are masked entries in {what}: fill them in or leave them out")


def float_array(values: Any, what: str) -> NDArray[np.float64]:
    """Finite or infinite doubles in any shape; texts, dates, complex numbers and NaN are none."""
    refuse_masked(values, what)
    try:
        if isinstance(values, range) and len(values) > MOST_ITEMS:
            raise MemoryError
        table = np.asarray(values)
        if table.dtype.kind == "O":
            table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InvalidInput(f"{what} must be numbers, found {shown(values)}") from error
    if table.dtype.kind not in "fiu" or np.isnan(table).any():
        raise InvalidInput(f"{what} must be numbers, found {shown(values)}")
    return table.astype(np.float64)


def index_array(values: Any, count: int, what: str) -> NDArray[np.int64]:
    """Indices below a count, in any shape."""
    try:
        result = np.asarray(values)
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidInput(f"{what} must be integers from 0 to {count - 1}, found {shown(values)}") from error
    if result.dtype.kind not in "iu" or (result.size and not 0 <= int(result.min()) <= int(result.max()) < count):
        raise InvalidInput(f"{what} must be integers from 0 to {count - 1}, found {shown(values)}")
    return result.astype(np.int64)


def quoted(path: Path) -> str:
    """A path as a message has it: as it was given, cut in the middle where it is long, in one line."""
    name = in_one_line(path)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 :]}"


def file_path(value: str | PathLike[str], what: str = "a file") -> Path:
    """The path of a file; a number is none, although the system would open the file it stands for."""
    try:
        name: Any = os.fspath(value)
        if isinstance(name, bytes) or not name or "\0" in name:
            raise TypeError
        os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        raise InvalidInput(f"{what} is named by a path, found {shown(value)}") from None
    return Path(name)
