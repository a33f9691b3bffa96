"""The exception tree.

::

    SfumatoError
    ├── InvalidInput (ValueError)    what was given cannot be used
    │   ├── InvalidMetric            .triple: the labels that break an axiom
    │   ├── InvalidChannel           .row: the label of the bad row, .total: its sum
    │   ├── InvalidPrior
    │   ├── InvalidLoss
    │   ├── InvalidEpsilon
    │   ├── InvalidFile              a mechanism file that cannot be read or believed
    │   └── Mismatch                 .expected, .found: label lists that should agree
    ├── NotSupported                 .what, .supported
    │   └── TooLarge                 .bytes, .available
    ├── MissingExtra (ImportError)   .extra: the pip extra to install
    ├── SolverError
    │   ├── Infeasible               .ray: a Farkas ray
    │   └── NotConverged             .best, .gap
    ├── PrivacyViolation             .pair, .output, .ratio, .bound
    ├── BudgetExceeded               .dataset, .columns, .spent, .asked, .limit
    └── UndecidedError               .verdict

A message says what is wrong, where, what was found, what was expected and what
to do. Whatever a program needs to react is kept as an attribute.

What to do is spelled differently at each door: a keyword of Python is an option of the shell. A message names
arguments by :func:`keyword`, functions by :func:`advice` and calls by :func:`worded`; the door at which the reader
stands says how they are written, with :func:`speaking`. Python's spelling is the one that holds where no door says
otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from inspect import isroutine
from numbers import Number
from reprlib import Repr
from typing import Any, TypeVar
from unicodedata import category

T = TypeVar("T")

__all__ = [
    "BudgetExceeded",
    "Infeasible",
    "InvalidChannel",
    "InvalidEpsilon",
    "InvalidFile",
    "InvalidInput",
    "InvalidLoss",
    "InvalidMetric",
    "InvalidPrior",
    "Mismatch",
    "MissingExtra",
    "NotConverged",
    "NotSupported",
    "PrivacyViolation",
    "SfumatoError",
    "SolverError",
    "TooLarge",
    "UndecidedError",
    "Wording",
    "advice",
    "counted",
    "expect",
    "few",
    "keyword",
    "short",
    "shown",
    "speaking",
    "worded",
]


@dataclass(eq=False, repr=False)
class SfumatoError(Exception):
    """Base of every error that sfumato raises on purpose."""

    message: str

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Across processes an error keeps its message and what it carries, whatever its constructor takes."""
        return _restored, (type(self), self.args, self.__dict__)


class InvalidInput(SfumatoError, ValueError):
    """An argument that has no meaning here."""


@dataclass(eq=False, repr=False)
class InvalidMetric(InvalidInput):
    """Distances that are no metric; ``triple`` names the culprits."""

    triple: tuple[Any, ...] = ()


@dataclass(eq=False, repr=False)
class InvalidChannel(InvalidInput):
    """A matrix that is not stochastic; ``row`` and ``total`` say where and by how much."""

    row: Any = None
    total: Any = None


class InvalidPrior(InvalidInput):
    """Weights that are no probability distribution."""


class InvalidLoss(InvalidInput):
    """A loss or gain that is not a finite table over actions and secrets."""


class InvalidEpsilon(InvalidInput):
    """A privacy parameter outside its range."""


class InvalidFile(InvalidInput):
    """A file that is damaged, truncated, of another version, or malicious."""


class Mismatch(InvalidInput):
    """Two values whose labels should agree and do not."""

    def __init__(self, what: str, expected: Sequence[Any], found: Sequence[Any], message: str = "") -> None:
        self.expected = tuple(expected)
        self.found = tuple(found)
        super().__init__(f"{what}: {message or _difference(self.expected, self.found)}")

    @classmethod
    def unknown(cls, what: str, known: Sequence[Any], asked: Sequence[Any]) -> Mismatch:
        """For labels that were asked for and are not among the known ones."""
        strangers = [label for label in asked if not _among(label, known)]
        verb = "is" if len(strangers) == 1 else "are"
        return cls(what, known, asked, f"{few(strangers)} {verb} not among {few(known)}")


class NotSupported(SfumatoError):
    """A request outside what is built; ``supported`` lists what can be asked instead.

    Examples
    --------
    >>> print(NotSupported("a grid with 33 sides", ["at most 32"]))
    a grid with 33 sides is not supported; at most 32 are
    >>> print(NotSupported("solver 'magic'", ["auto", "exact", "highs"]))
    solver 'magic' is not supported; auto, exact and highs are
    """

    def __init__(self, what: str, supported: Iterable[Any] = ()) -> None:
        self.what = what
        self.supported = tuple(supported)
        super().__init__(
            f"{what} {_is_or_are(what)} not supported{_instead(self.supported)}" if self.supported else what
        )


def _instead(supported: Sequence[Any]) -> str:
    """What can be asked instead, after a semicolon; what explains itself after a colon stands in a list."""
    texts = [str(one) for one in supported]
    if not texts:
        return ""
    if any(mark in text for text in texts for mark in ":;"):
        return f"; instead: {', '.join(texts)}"
    *most, last = texts
    words = f"{', '.join(most)} and {last}" if most else last
    return f"; {words} {'are' if most else _is_or_are(last)}"


_COUNTS = ("at most", "up to", "more than", "fewer", "nearer")
_AFTER_A_NOUN = re.compile(
    r",|\(| (?:in|of|with|for|on|between|beside|where|under|within|from|by|as|that|whose|which|into) "
)


def _is_or_are(words: str) -> str:
    """The verb of what words name: their first noun stands before a preposition.

    Examples
    --------
    >>> [_is_or_are(one) for one in ("files in a spec", "a list of secrets", "3 secrets", "at most 32")]
    ['are', 'is', 'are', 'are']
    """
    noun = _AFTER_A_NOUN.split(words.rpartition(": ")[2], maxsplit=1)[0]
    number = re.match(r"\d[\d,]*\b(?!/)", noun)
    if noun.startswith(_COUNTS) or (number and number[0] != "1"):
        return "are"
    one = noun.startswith(("a ", "an ", "the ", "one ", "this ")) and not noun.startswith(("the rows", "the columns"))
    return "are" if not one and re.search(r"[^su'i]s$", noun) else "is"


class TooLarge(NotSupported):
    """A request that does not fit into memory: ``bytes`` that it needs and those that are ``available``, where known.

    Estimated beforehand, so that nothing large has been built; ``supported`` says what to do instead.
    """

    def __init__(self, what: str, size: float | None, available: float | None, supported: Iterable[Any] = ()) -> None:
        self.bytes = None if size is None else int(size)
        self.available = None if available is None else int(available)
        needed = "more memory than there is" if size is None else f"about {_written_size(size)} of memory"
        there = "" if available is None else f", and {_written_size(available)} can be used"
        super().__init__(what, supported)
        hint = f"; try {', or '.join(map(str, self.supported))}" if self.supported else ""
        self.args = (f"{what} needs {needed}{there}{hint}",)


class MissingExtra(SfumatoError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'sfumato[{extra}]'")


@contextmanager
def needs(extra: str, package: str) -> Iterator[None]:
    """Imports of an optional package: where it is not installed, the error says how to get it."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(extra, package) from error


class SolverError(SfumatoError):
    """A linear program that could not be brought to an answer."""


@dataclass(eq=False, repr=False)
class Infeasible(SolverError):
    """No point satisfies the constraints; ``ray`` proves it."""

    ray: Any = None


@dataclass(eq=False, repr=False)
class NotConverged(SolverError):
    """Time or iterations ran out; ``best`` is the best result so far."""

    best: Any = None
    gap: float | None = None


@dataclass(eq=False, repr=False)
class PrivacyViolation(SfumatoError):
    """Two secrets that an output tells apart more than was promised."""

    pair: tuple[Any, Any] | None = None
    output: Any = None
    ratio: Any = None
    bound: Any = None


@dataclass(eq=False, repr=False)
class BudgetExceeded(SfumatoError):
    """A release that a ledger refuses: with it, more than the limit would have been told. Nothing was recorded."""

    dataset: str = ""
    columns: tuple[str, ...] = ()
    spent: Any = None
    asked: Any = None
    limit: Any = None


@dataclass(eq=False, repr=False)
class UndecidedError(SfumatoError):
    """The truth value of an undecided verdict was asked for."""

    verdict: Any = None


@dataclass(frozen=True)
class Wording:
    """How the reader at one door writes an argument with its value (None: any) and calls a function of ours.

    ``function`` returns an empty text for what cannot be called at that door, ``options`` one for arguments that it
    does not have by these names.
    """

    keyword: Callable[[str, Any], str]
    function: Callable[[str], str]
    options: Callable[[Sequence[str]], str] = lambda names: ""


# One for the whole process, and not for a thread: whoever reads messages reads those of all threads.
_wording = Wording(lambda name, value: f"{name}={'' if value is None else shown(value)}", "{}()".format)


@contextmanager
def speaking(wording: Wording) -> Iterator[None]:
    """Word messages for the reader at a door while the block runs."""
    global _wording
    before, _wording = _wording, wording
    try:
        yield
    finally:
        _wording = before


def keyword(name: str, value: Any = None) -> str:
    """An argument as the reader of a message gives it.

    Examples
    --------
    >>> keyword("on_unknown", "drop"), keyword("into")
    ("on_unknown='drop'", 'into=')
    >>> with speaking(Wording(lambda name, value: f"--{name} {value}", lambda name: "")):
    ...     keyword("into", "noise")
    '--into noise'
    """
    return _wording.keyword(name, value)


def worded(call: str, *options: str) -> str:
    """A call as the reader of a message writes it: by options of these names, where the door has them.

    Examples
    --------
    >>> worded("Place('lat', 'lon')", "lat", "lon")
    "Place('lat', 'lon')"
    >>> shell = Wording(lambda name, value: "", lambda name: "", lambda names: " and ".join(f"--{n}" for n in names))
    >>> with speaking(shell):
    ...     worded("Place('lat', 'lon')", "lat", "lon")
    '--lat and --lon'
    """
    return _wording.options(options) or call


def advice(*functions: tuple[str, str]) -> str:
    """What functions of ours would do about it, as the end of a message, without those that the reader cannot call.

    Examples
    --------
    >>> advice(("normalise", "divides rows by their sums"), ("repair", "also makes them private"))
    '; normalise() divides rows by their sums, repair() also makes them private'
    """
    calls = [(_wording.function(name), does) for name, does in functions]
    offers = ", ".join(f"{call} {does}" for call, does in calls if call)
    return f"; {offers}" if offers else ""


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "secret"), counted(3, "vertex", "vertices")
    ('1 secret', '3 vertices')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def _written_size(size: float) -> str:
    """Bytes as people write them.

    Examples
    --------
    >>> _written_size(24e9), _written_size(3e5)
    ('22.4 GiB', '0.286 MiB')
    """
    for unit, power in (("TiB", 40), ("GiB", 30)):
        if size >= 2**power:
            return f"{size / 2**power:.3g} {unit}"
    return f"{size / 2**20:.3g} MiB" if size < 100 * 2**20 else f"{size / 2**20:.0f} MiB"


def _restored(kind: type[SfumatoError], arguments: tuple[Any, ...], carried: dict[str, Any]) -> SfumatoError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(carried)
    return error


def expect(value: Any, kind: type[T], what: str, hint: str = "") -> T:
    """The value, if it is of the kind a function takes; otherwise an error that says what is."""
    if not isinstance(value, kind):
        found = type(value).__name__
        raise InvalidInput(f"{what} must be a {kind.__name__}, found a value of type {found}{hint and f': {hint}'}")
    return value


class _Shown(Repr):
    """``repr`` in few words: without addresses, endless digits and deep nesting, and whatever a value's own does."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = 8
        self.maxstring = self.maxlong = 80
        self.maxother = 160

    def repr_int(self, value: int, _level: int) -> str:
        digits = value.bit_length() * 30103 // 100000
        return f"an integer of {digits} digits" if digits > self.maxlong else repr(value)

    def repr_Fraction(self, value: Fraction, _level: int) -> str:  # noqa: N802 - the name is that of the type
        parts = int(value.numerator), int(value.denominator)  # which may be NumPy's
        digits = max(part.bit_length() for part in parts) * 30103 // 100000
        return f"a fraction of {digits} digits" if digits > self.maxlong else str(value)

    def repr_instance(self, value: Any, _level: int) -> str:
        kind = type(value)
        if isinstance(value, type) or isroutine(value):
            return f"the {'type' if isinstance(value, type) else 'function'} {value.__name__}"
        if getattr(kind, "__repr__", None) is object.__repr__:
            return f"a value of type {kind.__name__}"
        try:
            text = repr(value)
        except Exception:  # the method is not ours, and a message must not fail
            return f"a value of type {kind.__name__}"
        if " at 0x" in text or "\n" in text or len(text) > self.maxother:
            return f"a value of type {kind.__name__}"
        return text


_SHOWN = _Shown()


def shown(value: Any) -> str:
    """A value as a message quotes it: as ``repr`` writes it where that is short, and always a few words that print.

    Examples
    --------
    >>> shown("a"), shown(Fraction(1, 2)), shown(10**400), shown(print), shown(object())
    ("'a'", '1/2', 'an integer of 400 digits', 'the function print', 'a value of type object')
    """
    return _SHOWN.repr(value)


def in_one_line(text: Any) -> str:
    r"""A name or a message without what would begin another line, or tell a terminal something: that is spelled out.

    Examples
    --------
    >>> in_one_line("a" + chr(10) + "PROVED"), in_one_line("50\u00a0%")
    ('a\\nPROVED', '50\xa0%')
    """
    return "".join(
        c if c.isprintable() or category(c) == "Zs" else c.encode("unicode_escape").decode() for c in str(text)
    )


def short(number: Any) -> str:
    """A number or a text as ``str`` writes it, or in words where that would be long; anything else as it is shown."""
    words = shown(number)
    as_it_is = isinstance(number, Number | str) and len(words) <= 40 and "digits" not in words
    return str(number) if as_it_is else words


def _among(label: Any, labels: Sequence[Any]) -> bool:
    """Whether a label is one of several; what cannot be hashed is none."""
    try:
        return label in set(labels)
    except TypeError:
        return False


def _difference(expected: tuple[Any, ...], found: tuple[Any, ...]) -> str:
    """Name the labels that differ, few enough to read."""
    missing = [label for label in expected if label not in set(found)]
    extra = [label for label in found if label not in set(expected)]
    if missing or extra:
        named = (("missing", missing), ("unexpected", extra))
        return "; ".join(f"{word} {few(labels)}" for word, labels in named if labels)
    where = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
    if where is None:
        return f"expected {len(expected)} labels, found {len(found)}"
    return (
        f"same labels in another order, first at position {where}: "
        f"expected {shown(expected[where])}, found {shown(found[where])}"
    )


def few(labels: Sequence[Any], most: int = 5) -> str:
    """The first labels of a list, few enough to read."""
    named = ", ".join(map(shown, labels[:most]))
    return named if len(labels) <= most else f"{named} and {len(labels) - most} more"
