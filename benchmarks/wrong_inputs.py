"""What qif and sfumato answer to wrong and to delicate inputs, side by side.

Every case is a pair of calls on the same numbers. qif runs in a process of its own, in case it
crashes or does not end.

A second table is about sfumato alone: every argument of every public function, constructor and method, replaced by each
of a hundred things that it is not. The calls and the judge are those of ``tests/conformance/test_arguments.py``, which
runs some of them. ``python benchmarks/wrong_inputs.py PATTERN`` runs this table only, for names that match.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from isolation import isolated
from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from public_names import public_callables
from valid_calls import CALLS
from wrong_arguments import faults, wrong_calls

SECONDS = 60
LONGEST_ANSWER = 90

GOOD = np.array([[0.7, 0.3], [0.4, 0.6]])
GOOD_PRIOR = np.array([0.5, 0.5])


@dataclass(frozen=True)
class Case:
    """An input in words, the right answer, and the two calls."""

    given: str
    expected: str
    ask_qif: Callable[[], Any]
    ask_sfumato: Callable[[], Any]


def main() -> None:
    """Print and write both tables, or one of them."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("pattern", nargs="?", default="", help="the second table only, for names that match")
    parser.add_argument("--no-arguments", action="store_true", help="the first table only")
    given = parser.parse_args()
    if not given.pattern:
        side_by_side()
    if not given.no_arguments:
        every_argument(given.pattern)


def every_argument(pattern: str = "") -> None:
    """All wrong calls, and how many were neither answered nor refused in a sentence; names without any in one row."""
    table = Table(
        "wrong_arguments",
        "Arguments replaced by what they are not",
        ("name", "calls", "seconds", "faults", "the first of them"),
    )
    callables = {name: one for name, one in public_callables().items() if re.search(pattern, name)}
    home = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # calls write files where they are
        for name, function in callables.items():
            valid = CALLS[name]()
            function(*valid.positional, **valid.named)
            calls, started = wrong_calls({name: function}), perf_counter()
            failed = list(faults(calls, {name: function}))
            first = _one_line(f"{failed[0].wrong}: {failed[0].what}") if failed else ""
            table.add(name, len(calls), perf_counter() - started, len(failed), first)
        os.chdir(home)
    table.rows = [row for row in table.rows if row[3]] + [
        (f"all {len(table.rows)} names", *(sum(row[k] for row in table.rows) for k in (1, 2, 3)), "")
    ]
    table.finish()


def side_by_side() -> None:
    """What both packages answer."""
    table = Table(
        "wrong_inputs",
        "Answers to wrong and delicate inputs",
        ("input", "right answer", "qif", "sfumato"),
    )
    for case in [*close_refinements(), *malformed(), *delicate_privacy(), *optimal_mechanisms()]:
        answers = _one_line(isolated(case.ask_qif, seconds=SECONDS)), _answer_of_sfumato(case)
        table.add(case.given, case.expected, *(marked(case.expected, answer) for answer in answers))
    table.finish()


def marked(expected: str, answer: str) -> str:
    """The answer, in bold where it is wrong; an error in place of an answer is no wrong answer."""
    raised = re.match(r"\w*(Error|Invalid\w*|NotSupported|TooLarge)\b", answer) is not None
    right = {"fails": ("fails", "False"), "holds": ("holds", "True"), "inf": ("inf",)}.get(expected, ())
    wrong = not raised and (expected == "error" or (bool(right) and not answer.startswith(right)))
    return f"**{answer}**" if wrong else answer


def close_refinements() -> list[Case]:
    """A = 0.6 I + 0.1 J and B = (1 − t) A + t I, which tells more than A for every t > 0."""
    identity = np.array([[Fraction(int(x == y)) for y in range(4)] for x in range(4)], dtype=object)
    a = Fraction(3, 5) * identity + Fraction(1, 10)
    cases = []
    for digits in (2, 4, 6, 8, 10, 12):
        t = Fraction(1, 10**digits)
        b = (1 - t) * a + t * identity
        for kind, given_a, given_b in (("float", a.astype(float), b.astype(float)), ("exact", a, b)):
            given = f"refinement, t = 1e-{digits}, {kind}"
            cases.append(
                Case(given, "fails", partial(qif_refines, given_b, given_a), partial(refines, given_b, given_a))
            )
    return cases


def malformed() -> list[Case]:
    """Matrices that are no channels, and shapes that do not fit, put to three questions."""
    channels = {
        "NaN entry": np.array([[np.nan, 0.3], [0.4, 0.6]]),
        "negative entry": np.array([[1.2, -0.2], [0.4, 0.6]]),
        "row sum 0.9": np.array([[0.6, 0.3], [0.4, 0.6]]),
        "empty matrix": np.empty((0, 0)),
        "3 rows for 2 secrets": np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]]),
    }
    cases = []
    for what, matrix in channels.items():
        cases += [
            Case(f"Bayes vulnerability, {what}", "error", partial(qif_bayes, matrix), partial(bayes, matrix)),
            Case(f"refinement, {what}", "error", partial(qif_refines, GOOD, matrix), partial(refines, GOOD, matrix)),
            Case(f"d-privacy, {what}", "error", partial(qif_private, matrix, 1.0), partial(private, matrix, 1.0)),
        ]
    return cases


def delicate_privacy() -> list[Case]:
    """A zero that faces a positive entry, ε = 0 and ε = NaN, and ratios that miss the bound e by little."""
    zero = np.array([[1.0, 0.0], [0.5, 0.5]])
    cases = [
        Case(
            "d-privacy, zero facing 0.5, ε = 1", "fails", partial(qif_private, zero, 1.0), partial(private, zero, 1.0)
        ),
        Case("smallest ε, zero facing 0.5", "inf", partial(qif_epsilon, zero), partial(epsilon, zero)),
        Case("d-privacy, ε = NaN", "error", partial(qif_private, GOOD, np.nan), partial(private, GOOD, np.nan)),
        Case("d-privacy, ε = −1", "error", partial(qif_private, GOOD, -1.0), partial(private, GOOD, -1.0)),
    ]
    for digits in (6, 9, 12, 14):
        excess = 1 + 10.0**-digits
        low = 1 / (1 + np.e * excess)
        matrix = np.array([[1 - low, low], [low, 1 - low]])
        given = f"d-privacy, ratio e·(1 + 1e-{digits}), ε = 1"
        cases.append(Case(given, "fails", partial(qif_private, matrix, 1.0), partial(private, matrix, 1.0)))
    return cases


def optimal_mechanisms() -> list[Case]:
    """Mechanisms that qif's linear program calls optimal at ε: does ε hold, in each package's own eyes?"""
    spaces = {"line(8), ε = 0.7": (sf.line(8), 0.7), "line(8), ε = 1/3": (sf.line(8), 1 / 3)}
    spaces |= {f"{n} × {n} grid, ε = 1": (sf.grid(n, n), 1.0) for n in (3, 4, 5)}
    cases = []
    for where, (space, rate) in spaces.items():
        distances = space.distances.floats
        matrix = isolated(qif_optimal, distances, rate, seconds=SECONDS)
        given = f"qif min_loss_given_d, {where}"
        ask_qif, ask_sfumato = partial(qif_keeps, matrix, distances, rate), partial(keeps, matrix, space, rate)
        cases.append(Case(given, "see the numbers", ask_qif, ask_sfumato))
    return cases


def _qif() -> Any:
    import qif  # the second table does without

    return qif


def qif_refines(b: np.ndarray, a: np.ndarray) -> Any:
    """Whether B = A·R, as qif sees it."""
    return _qif().refinement.refined_by(a, b)


def refines(b: np.ndarray, a: np.ndarray) -> sf.Verdict:
    """Whether B = A·R, as sfumato sees it."""
    secrets = range(len(b))
    return sf.refines(sf.Channel(secrets, b), sf.Channel(secrets, a))


def qif_bayes(matrix: np.ndarray) -> float:
    """Bayes vulnerability by qif."""
    return _qif().measure.bayes_vuln.posterior(GOOD_PRIOR, matrix)


def bayes(matrix: np.ndarray) -> float:
    """Bayes vulnerability by sfumato."""
    return sf.bayes_vulnerability(sf.Prior(range(2), GOOD_PRIOR), sf.Channel(range(2), matrix))


def qif_private(matrix: np.ndarray, rate: float) -> bool:
    """Whether two secrets at distance 1 are kept apart by no more than ε, by qif."""
    return _qif().measure.d_privacy.is_private(matrix, _qif().metric.from_distance_matrix(rate * (1 - np.eye(2))))


def private(matrix: np.ndarray, rate: float) -> sf.Verdict:
    """Whether two secrets at distance 1 are kept apart by no more than ε, by sfumato."""
    space = sf.line(2)
    return sf.satisfies(sf.Channel(space, matrix), sf.PrivacyType(space, epsilon=rate))


def qif_epsilon(matrix: np.ndarray) -> float:
    """The least ε of a channel on two secrets, by qif."""
    return _qif().measure.d_privacy.smallest_epsilon(matrix, lambda x, z: float(abs(x - z)))


def epsilon(matrix: np.ndarray) -> float:
    """The least ε of a channel on two secrets, by sfumato."""
    space = sf.line(2)
    return sf.smallest_epsilon(sf.Channel(space, matrix), space)


def qif_optimal(distances: np.ndarray, rate: float) -> np.ndarray:
    """The mechanism of least expected distance that qif finds at ε."""
    n = len(distances)
    allowed, loss = (_qif().metric.from_distance_matrix(table) for table in (rate * distances, distances))
    return _qif().mechanism.d_privacy.min_loss_given_d(np.full(n, 1 / n), n, allowed, loss)


def qif_keeps(matrix: np.ndarray, distances: np.ndarray, rate: float) -> str:
    """What qif says of a mechanism's ε."""
    measure = _qif().measure.d_privacy
    promised = measure.is_private(matrix, _qif().metric.from_distance_matrix(rate * distances))
    least = measure.smallest_epsilon(matrix, _qif().metric.from_distance_matrix(distances))
    return f"{promised}; smallest ε {least!r}"


def keeps(matrix: np.ndarray, space: sf.FiniteSpace, rate: float) -> str:
    """What sfumato says of a mechanism's ε."""
    channel = sf.Channel(space, matrix)
    verdict = sf.satisfies(channel, sf.PrivacyType(space, epsilon=rate))
    return f"{verdict.outcome}; smallest ε {sf.smallest_epsilon(channel, space)!r}"


def _answer_of_sfumato(case: Case) -> str:
    try:
        return _one_line(case.ask_sfumato())
    except Exception as error:
        return _one_line(f"{type(error).__name__}: {error}")


def _one_line(answer: Any) -> str:
    text = " ".join(str(answer).split())
    return text if len(text) <= LONGEST_ANSWER else f"{text[: LONGEST_ANSWER - 1]}…"


if __name__ == "__main__":
    main()
