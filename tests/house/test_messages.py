"""No message prints two numbers that differ with so few digits that they read the same, nor all of a long value."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

SOURCES = sorted((Path(__file__).resolve().parents[2] / "src").rglob("*.py"))

# words between two numbers that say that these differ
DIFFER = re.compile(
    r"more than|instead of|, not |between| and no point|larger than|beyond|exceed|outside|at most|scale"
)
FEW_DIGITS = re.compile(r"\.?\d*[efg]$")


def short(part: ast.expr) -> bool:
    """A number with a fixed number of digits."""
    if not isinstance(part, ast.FormattedValue) or not isinstance(part.format_spec, ast.JoinedStr):
        return False
    spec = "".join(str(piece.value) for piece in part.format_spec.values if isinstance(piece, ast.Constant))
    return bool(FEW_DIGITS.search(spec))


def comparisons(text: str) -> list[int]:
    """Lines with a string that compares two numbers of few digits; :func:`sfumato.numbers.told_apart` is for those."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            places = [i for i, part in enumerate(node.values) if short(part)]
            for first, second in pairwise(places):
                words = [part.value for part in node.values[:second] if isinstance(part, ast.Constant)]
                between = [part.value for part in node.values[first:second] if isinstance(part, ast.Constant)]
                before = str(words[0]) if "between" in str(words[:1]) else ""
                if DIFFER.search(before + "".join(map(str, between))):
                    found.append(node.lineno)
    return found


def test_numbers_that_are_said_to_differ_are_told_apart() -> None:
    assert comparisons('f"{a:.6g} times, more than the {b:.6g} allowed"')
    assert comparisons('f"it lies between {a:.6g} and {b:.6g}"')
    assert not comparisons('f"loss {a:.6g}, bound {b:.6g}"')
    wrong = [f"{path.name}:{line}" for path in SOURCES for line in comparisons(path.read_text())]
    assert not wrong


# the proof kernel imports nothing of ours; what it, the command line, the studio and the specs quote are short texts
# that they have read themselves
QUOTE_TEXTS = ("/certify/kernel.py", "/certify/exponentials.py", "/cli/", "/studio/", "/specs/")


def quotations(text: str) -> list[int]:
    """Lines of errors that quote a value with all that its ``repr`` says; :func:`sfumato.errors.shown` is for those."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise)
        and any(isinstance(part, ast.FormattedValue) and part.conversion == ord("r") for part in ast.walk(node))
    ]


def test_errors_quote_values_in_few_words() -> None:
    assert quotations('raise ValueError(f"found {value!r}")')
    assert not quotations('raise ValueError(f"found {shown(value)}")')
    sources = [path for path in SOURCES if not any(part in path.as_posix() for part in QUOTE_TEXTS)]
    wrong = [f"{path.name}:{line}" for path in sources for line in quotations(path.read_text())]
    assert not wrong
