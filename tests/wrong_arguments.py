"""Wrong arguments, put in the place of right ones, one at a time; and what counts as an answer to them.

A call answers when it returns, or raises an error of ours (:class:`~sfumato.errors.SfumatoError`) whose message is a
sentence a person can read. Two more errors are let through, and no others:

- ``TypeError`` of Python itself for a call that does not fit the signature (a missing or an unknown keyword), which is
  raised before a line of ours runs;
- what a function of the caller raises (a query, a density, ``progress``), if it comes out as it went in.

Warnings are errors. Work is bounded: a call that needs more processor time than :data:`MOST_WORK` has not answered.
"""

from __future__ import annotations

import inspect
import json
import signal
import warnings
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

import numpy as np

import sfumato as sf
from sfumato.errors import SfumatoError
from valid_calls import CALLS, Given, noun

__all__ = ["MEMBERS", "Fault", "Wrong", "chosen", "faults", "judged", "wrong_calls"]

MOST_WORK = 20.0  # seconds of processor time; the slowest valid call needs a tenth
MOST_WAITING = 120.0  # seconds by the clock, for calls that wait instead of working
LONGEST_MESSAGE = 1000  # characters; more is not a sentence but a dump
MOST_ITEMS = 1000  # that are taken from a result which is a generator


class Thrown(Exception):
    """What the functions below raise: a caller's own error."""


class Hostile:
    """A value whose methods fail when they are called."""

    def __len__(self) -> int:
        raise Thrown("no length")

    def __iter__(self) -> Iterator[Any]:
        raise Thrown("no items")

    def __repr__(self) -> str:
        return "Hostile()"


def throws(*_arguments: Any, **_named: Any) -> Any:
    """A function that fails."""
    raise Thrown("I do not know")


def _deep(depth: int = 3000) -> list[Any]:
    nested: list[Any] = [1]
    for _ in range(depth):
        nested = [nested]
    return nested


def _file(name: str, content: bytes) -> str:
    Path(name).write_bytes(content)
    return name


def _zip(name: str) -> str:
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("a.txt", "not an array")
    return name


def _folder(name: str) -> str:
    Path(name).mkdir(exist_ok=True)
    return name


def _half_saved() -> str:
    path = Path("half.sfm")
    path.unlink(missing_ok=True)
    sf.save(noun("mechanism"), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return str(path)


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame({"x": [0, 1], "y": ["a", None]})


def _series() -> Any:
    import pandas as pd

    return pd.Series([0.5, 0.25, 0.25], index=["a", "b", "c"])


def _polars() -> Any:
    import polars as pl

    return pl.DataFrame({"x": [0, 1], "y": ["a", None]})


CONSTANTS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "object": object,
    "type": lambda: int,
    "empty text": lambda: "",
    "text": lambda: "x",
    "bytes": lambda: b"x",
    "null character": lambda: "a\0b",
    "lone surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 100_000,
    "huge exponent": lambda: "1e999999999",
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "1.5": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "NumPy NaN": lambda: np.float32("nan"),
    "complex": lambda: 1 + 2j,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "tiny fraction": lambda: Fraction(1, 10**400),
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "a date": lambda: datetime(2020, 2, 29),
    "[]": list,
    "{}": dict,
    "()": tuple,
    "set": set,
    "[None]": lambda: [None],
    "[NaN]": lambda: [float("nan")],
    "[NaN, NaN]": lambda: [float("nan"), float("nan")],
    "['a', 'a']": lambda: ["a", "a"],
    "[1, 'a']": lambda: [1, "a"],
    "[[]]": lambda: [[]],
    "[{}]": lambda: [{}],
    "['\\ud800', 'b', 'c']": lambda: ["\ud800", "b", "c"],
    "[inf, -inf, 1]": lambda: [float("inf"), -float("inf"), 1],
    "[10**400, 1]": lambda: [10**400, 1],
    "ragged": lambda: [[1, 2], [3]],
    "deep": _deep,
    "mapping": lambda: {0: 1, "a": None},
    "generator": lambda: (i for i in range(3)),
    "empty generator": lambda: iter(()),
    "generator that fails": lambda: (throws() for _ in range(3)),
    "hostile": Hostile,
    "range": lambda: range(3),
    "huge range": lambda: range(10**12),
    "empty array": lambda: np.empty(0),
    "empty table": lambda: np.empty((0, 3)),
    "scalar array": lambda: np.array(1.0),
    "3-d array": lambda: np.zeros((2, 2, 2)),
    "array of NaN": lambda: np.full((3, 3), np.nan),
    "array of infinities": lambda: np.full((3, 3), np.inf),
    "array of zeros": lambda: np.zeros((3, 3)),
    "array of texts": lambda: np.array(["a", "b", "c"]),
    "array of objects": lambda: np.array([None, {}, object()], dtype=object),
    "array of complex": lambda: np.eye(3) * 1j,
    "array of bools": lambda: np.eye(3, dtype=bool),
    "array of dates": lambda: np.array(["2020-02-29", "NaT"], dtype="datetime64[D]"),
    "array of long integers": lambda: np.array([10**30, 1, 2], dtype=object),
    "structured array": lambda: np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
    "vector": lambda: np.array([0.5, 0.5]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "pandas frame": _frame,
    "pandas series": _series,
    "polars frame": _polars,
    "function that fails": lambda: throws,
    "function of nothing": lambda: lambda: 0,
    "function to None": lambda: lambda *_, **__: None,
    "function to NaN": lambda: lambda *_, **__: float("nan"),
    "function to text": lambda: lambda *_, **__: "x",
    "function to a list": lambda: lambda *_, **__: [1, {}],
    "a module": lambda: sf,
    "another prior": lambda: sf.Prior.uniform(["p", "q"]),
    "another channel": lambda: sf.Channel(["p", "q"], [[1, 0], [0, 1]]),
    "another space": lambda: sf.discrete(["p", "q"]),
    "another promise": lambda: sf.PrivacyType(sf.discrete(["p", "q"]), alpha="1/3"),
    "another loss": lambda: sf.losses.bin(["p", "q"]),
    "one secret": lambda: sf.line(1),
    "a mechanism": lambda: noun("mechanism"),
    "directory": lambda: _folder("folder"),
    "directory named .sfm": lambda: _folder("folder.sfm"),
    "file in no folder": lambda: "nowhere/at/all.sfm",
    "empty file": lambda: _file("empty.sfm", b""),
    "file that is not UTF-8": lambda: _file("latin.csv", b"id,x\n1,\xff\xfe\n"),
    "truncated file": _half_saved,
    "zip named .npy": lambda: _zip("zip.npy"),
    "zip named .sfm": lambda: _zip("zip.sfm"),
    "deep JSON": lambda: _file("deep.json", b"[" * 100_000),
    "deep JSON named .sfm": lambda: _file("deep.sfm", b'{"a":' * 50_000),
    "JSON": lambda: json.dumps({"a": [1, 2]}),
    "path": lambda: Path("folder"),
}
"""What has nothing to do with the argument it replaces."""


def _other_length(value: Any) -> Any:
    return list(value)[:-1] if isinstance(value, list | tuple | np.ndarray) else NotImplemented


def _transposed(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return np.concatenate([value, value]).T
    if isinstance(value, list) and value and all(isinstance(row, list | tuple) for row in value):
        return [list(row) for row in zip(*value[:-1], strict=False)]
    return NotImplemented


def _nested(value: Any) -> Any:
    return [value] if isinstance(value, list | tuple | str | int) else NotImplemented


def _with_nan(value: Any) -> Any:
    return [*list(value)[:-1], float("nan")] if isinstance(value, list | tuple | np.ndarray) else NotImplemented


def _with_text(value: Any) -> Any:
    return [*list(value)[:-1], "\ud800"] if isinstance(value, list | tuple | np.ndarray) else NotImplemented


def _with_list(value: Any) -> Any:
    return [*list(value)[:-1], [[]]] if isinstance(value, list | tuple | np.ndarray) else NotImplemented


CHANGES: dict[str, Callable[[Any], Any]] = {
    "one fewer": _other_length,
    "transposed": _transposed,
    "in a list": _nested,
    "with a NaN": _with_nan,
    "with a surrogate": _with_text,
    "with a list": _with_list,
}
"""What is made of the argument it replaces; NotImplemented where that cannot be done."""

MEMBERS = (*CONSTANTS, *CHANGES)


@dataclass(frozen=True)
class Wrong:
    """One wrong call: which callable, which parameter (by name, or by place behind a star), which member."""

    name: str
    parameter: str
    member: str

    def __str__(self) -> str:
        return f"{self.name}({self.parameter} = {self.member})"


@dataclass(frozen=True)
class Fault:
    """A call that did not answer, and what it did instead."""

    wrong: Wrong
    what: str


def wrong_calls(callables: dict[str, Callable[..., Any]]) -> list[Wrong]:
    """Every argument of every callable, replaced by every member."""
    return [
        Wrong(name, parameter, member)
        for name, function in callables.items()
        for parameter in _parameters(name, function)
        for member in MEMBERS
    ]


def chosen(calls: list[Wrong], share: int) -> list[Wrong]:
    """One in so many, by a hash of the call: all callables are met, and which members does not change between runs."""
    return [call for call in calls if crc32(str(call).encode("utf-8", "backslashreplace")) % share == 0]


def _parameters(name: str, function: Callable[..., Any]) -> Iterator[str]:
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[_is_method(name, function):]:  # fmt: skip
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            yield f"*{parameter.name}"
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield parameter.name


def _is_method(name: str, function: Callable[..., Any]) -> int:
    return int(next(iter(inspect.signature(function).parameters), "") == "self")


def _replaced(wrong: Wrong, function: Callable[..., Any]) -> Given | None:
    """The valid call with one argument exchanged; None where the member does not apply."""
    if wrong.parameter == "progress" and wrong.member in ("type", "function of nothing"):
        return None  # a function that is told of progress and does not take what it is told fails as the caller's own
    valid = CALLS[wrong.name]()
    bound = inspect.signature(function).bind(*valid.positional, **valid.named)
    name = wrong.parameter.lstrip("*")
    before = bound.arguments.get(name)
    if wrong.parameter.startswith("*"):
        value = _member(wrong.member, before[0])
        bound.arguments[name] = (value, *before[1:])
    else:
        value = _member(wrong.member, before)
        bound.arguments[name] = value
    return None if value is NotImplemented else Given(bound.args, bound.kwargs)


def _member(member: str, before: Any) -> Any:
    return CONSTANTS[member]() if member in CONSTANTS else CHANGES[member](before)


def faults(calls: list[Wrong], callables: dict[str, Callable[..., Any]]) -> Iterator[Fault]:
    """The calls that did not answer. Files are written where this is called: call it in a folder of its own."""
    for wrong in calls:
        fault = judged(wrong, callables[wrong.name])
        if fault is not None:
            yield fault


def judged(wrong: Wrong, function: Callable[..., Any]) -> Fault | None:
    """None for a call that answers."""
    given = _replaced(wrong, function)
    if given is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.draws.InsecureSeed)  # what a seed is for is told by a warning, on purpose
        try:
            with _bounded():
                result = function(*given.positional, **given.named)
                if isinstance(result, Iterator):
                    deque(islice(result, MOST_ITEMS), maxlen=0)
        except Thrown:
            return None
        except SfumatoError as error:
            complaint = _unreadable(str(error))
            return Fault(wrong, f"{type(error).__name__} {complaint} [{_where(error)}]") if complaint else None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if isinstance(error, TypeError) and error.__traceback__.tb_next is None:
                return None
            return Fault(wrong, f"{type(error).__name__}: {str(error)[:200]} [{_where(error)}]")
    return None


def _unreadable(message: str) -> str:
    """What keeps a message from being read; empty if nothing does."""
    if not message.strip():
        return "says nothing"
    if len(message) > LONGEST_MESSAGE:
        return f"has {len(message)} characters: {message[:200]}"
    if " at 0x" in message:
        return f"tells an address: {message[:200]}"
    try:
        message.encode()
    except UnicodeEncodeError:
        return f"cannot be printed: {message[:200]!r}"
    return ""


def _where(error: BaseException) -> str:
    place, trace = "", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if "sfumato" in path.parts:
            place = f"{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class _TooLong(BaseException):
    """A call went past a bound; no ``except Exception`` may take it for something else."""


class _bounded:  # noqa: N801 - used as a statement
    """Processor time and waiting are bounded; compiled code is interrupted when it returns."""

    def __enter__(self) -> None:
        self.before = [signal.signal(s, _stop) for s in (signal.SIGPROF, signal.SIGALRM)]
        signal.setitimer(signal.ITIMER_PROF, MOST_WORK)
        signal.setitimer(signal.ITIMER_REAL, MOST_WAITING)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), self.before, strict=True):
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
        signal.setitimer(timer, 0)  # once is enough: what handles the error must not be interrupted as well
    raise _TooLong(f"more {'processor time' if number == signal.SIGPROF else 'waiting'} than a call may need")
