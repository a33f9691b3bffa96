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
    found: list[int] = []
    if not re.search(r"\d[efg]\}", text):  # which is quick, and true of most files
        return found
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
QUOTE_TEXTS = ("/certify/kernel/", "/certify/exponentials.py", "/cli/", "/studio/", "/specs/")


def quotations(text: str) -> list[int]:
    """Lines of errors that quote a value with all that its ``repr`` says; :func:`sfumato.errors.shown` is for those."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text if "!r}" in text else ""))
        if isinstance(node, ast.Raise)
        and any(isinstance(part, ast.FormattedValue) and part.conversion == ord("r") for part in ast.walk(node))
    ]


def test_errors_quote_values_in_few_words() -> None:
    assert quotations('raise ValueError(f"found {value!r}")')
    assert not quotations('raise ValueError(f"found {shown(value)}")')
    sources = [path for path in SOURCES if not any(part in path.as_posix() for part in QUOTE_TEXTS)]
    wrong = [f"{path.name}:{line}" for path in sources for line in quotations(path.read_text())]
    assert not wrong


# An argument or a call as Python writes it: options of the shell and keys of a spec have another form, so that
# messages name them by `keyword`, `advice` and `worded` of sfumato.errors.
PYTHON_SYNTAX = re.compile(
    r"(?<![\w<&?;\"-])[a-z_]{2,}=(?=['\u2026\s.,:;)]|True|False|\d|$)|\b[a-z_][\w.]*\(\)|"
    r"\b(Position|Place|Geometry)\("
)

# Messages about arguments that neither the shell nor the studio can give: only Python's readers see them.
ONLY_IN_PYTHON = (
    "a Repair has one as .mechanism, prove() makes one",
    "weights must be integers, found",
    "concurrent.futures.ProcessPoolExecutor() makes one",
    "compatibility.interval(), compatibility.covering",
    "covering numbers are finite down to radius",
    "an expected loss needs a prior; objective='worst secret'",
    "under= takes a predicate",
    "given as under=",
    "pass .to_numpy() for numbers in order",
    "absolute_error()",
    "has no Lipschitz constant: give lipschitz=",
    "normalise=True divides by that",
    "name where the density is concentrated in breaks=",
    "truncated_laplace(alpha=",
    "lattice_tight_constraints() on grids",
    "product_mechanism() on products",
    "delta(epsilon=",
    "PrivacyType(space, epsilon=",
    "ledger= is a Ledger",
    "a release without a key is written once: name a target",
    "pass .tolist() for rows, .to_dict() for counts",
    "a keyed release is charged with a fingerprint of its data (data=",
    "depends on its pixels and steps",
    "a ledger records proved mechanisms",
    "sampler(mechanism, pixels=",
    "sampler(mechanism, steps=",
    "sampler(truncated_laplace(…), pixels=…, steps=…)",
    "design() and prove() make one, load() reads one",
    "such as .itertuples(index=False)",
    "pass them and labels=",
    "a Python function: sf.",  # what kinds of a spec would need: the message says so
    "a frozen scipy distribution such as norm(scale=2)",
    "coordinates are Position('x', 'y') or Place('lat', 'lon')",
    "a position is named by its columns",
    "a place is named by its columns",
    "release with Place('lat', 'lon')",
)  # fmt: skip


def sentences(text: str) -> list[tuple[int, str]]:
    """Line and text of strings with spaces in them that are no documentation, mark-up or question to a database."""
    found: list[tuple[int, str]] = []
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):  # what holds a string comes before it
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "worded":
            left_out.update(map(id, node.args))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values))
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value
        else:
            continue
        if " " in words.strip() and "<" not in words and not re.match(r"\s*(SELECT|CREATE|ALTER|PRAGMA)", words):
            found.append((node.lineno, words))
    return found


def test_messages_are_right_at_every_door() -> None:
    assert PYTHON_SYNTAX.search("or on_unknown='drop' leaves") and PYTHON_SYNTAX.search("design() finds it")
    assert not PYTHON_SYNTAX.search("epsilon = 1 per km") and not PYTHON_SYNTAX.search(
        "`sfumato design --solver exact`"
    )
    wrong = [
        f"{path.name}:{line}: {words[:120]}"
        for path in SOURCES
        for line, words in sentences(path.read_text())
        if PYTHON_SYNTAX.search(words) and not any(known in words for known in ONLY_IN_PYTHON)
    ]
    assert not wrong
