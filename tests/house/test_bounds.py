"""Every printed bound is rounded to its side: a lower one down, an upper one up, by the functions that are for it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

from client_node import NODE

SOURCES = sorted((Path(__file__).resolve().parents[2] / "src").rglob("*.py"))
SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "src" / "sfumato" / "studio" / "static").glob("*.js"))

# what bounds are called, and words beside a number that make a bound of it
BOUNDS = {"bound", "lower", "upper", "gap", "excess", "farthest", "moved", "fewer_than"}
ENDS = {"low", "lower", "bound"}, {"high", "upper", "loss"}
BEFORE = re.compile(r"(at most|at least|up to|less than|more than|fewer than|not above|nor above|≥|≤) $")
AFTER = re.compile(r"^ (\w+ )?(at most|at least|or more|or less)\b")
FEW_DIGITS = re.compile(r"\.?\d*[efg%]$")
WRITES = re.compile(r"(:[^{}\s]*[efg%]\}|near\(|percent\(|round\(|told_apart\()")
NEAREST = {"near", "in_percent", "round"}


def rounds(part: ast.expr) -> ast.expr | None:
    """The number that is written as the nearest one of few digits, by a format or by a function."""
    if isinstance(part, ast.FormattedValue) and isinstance(part.format_spec, ast.JoinedStr):
        spec = "".join(str(piece.value) for piece in part.format_spec.values if isinstance(piece, ast.Constant))
        return part.value if FEW_DIGITS.search(spec) else None
    call = part.value if isinstance(part, ast.FormattedValue) else part
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in NEAREST:
        return None
    to_a_side = call.func.id == "in_percent" and len(call.args) == 3  # which is the function that rounds
    return None if to_a_side else call.args[0]


def words(parts: list[ast.expr]) -> str:
    """What is said in the parts of a text that are no values."""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def constant(value: ast.expr) -> bool:
    """A number that stands in the source with all its digits."""
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id.isupper())


def names(value: ast.AST, known: dict[str, ast.expr], depth: int = 3) -> Iterator[str]:
    """What is spoken of in an expression, and in what its names were set to before."""
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
            if node.id in known and depth:
                yield from names(known[node.id], known, depth - 1)


def set_to(scope: ast.AST) -> dict[str, ast.expr]:
    """The expressions that names of a function are taken from, where they are loops over some or copies of others."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name):
            found[node.target.id] = node.iter
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return found


def nearest_bounds(string: ast.JoinedStr, scope: ast.AST) -> bool:
    """Whether a text has a number, called a bound by its name or by the words beside it, that is rounded to nearest."""
    for k, part in enumerate(string.values):
        value = rounds(part)
        if value is None or constant(value):
            continue
        before, after = words(string.values[:k]), words(string.values[k + 1 : k + 2])
        if BEFORE.search(before) or AFTER.search(after) or BOUNDS & set(names(value, set_to(scope))):
            return True
    return False


def functions(node: ast.AST) -> Iterator[ast.AST]:
    """The outermost functions: what stands in them sees their names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
        else:
            yield from functions(child)


def wrongly_rounded(text: str) -> list[int]:
    """Lines with a bound that may be rounded to the other side."""
    if not WRITES.search(text):
        return []
    found = set()
    for scope in functions(ast.parse(text)):
        for node in ast.walk(scope):
            if isinstance(node, ast.JoinedStr) and nearest_bounds(node, scope):
                found.add(node.lineno)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                alone = node.func.id in ("near", "in_percent") and nearest_bounds(ast.JoinedStr([node]), scope)
                if alone or (node.func.id == "told_apart" and both_ends(node.args)):
                    found.add(node.lineno)
    return sorted(found)


def both_ends(args: list[ast.expr]) -> bool:
    """Whether two numbers are a lower and an upper bound of one thing."""
    if len(args) < 2:
        return False
    last = [arg.attr if isinstance(arg, ast.Attribute) else getattr(arg, "id", "") for arg in args[:2]]
    return last[0] in ENDS[0] and last[1] in ENDS[1]


def test_bounds_that_are_printed_are_rounded_to_their_side() -> None:
    assert wrongly_rounded('def f(best): return f"no mechanism loses less than {float(best.bound):.6g}"')
    assert wrongly_rounded('def f(best):\n    most = best.upper\n    return f"regret {float(most):.3g}"')
    assert wrongly_rounded('def f(a, b): return [f"{float(x):.4g}" for x in (a.loss, b.bound)]')
    assert wrongly_rounded('def f(x): return f"between {x:.3g} at least and all"')
    assert wrongly_rounded("def f(x): return told_apart(x.low, x.high)")
    assert wrongly_rounded('def f(x): return f"{near(x.bound, 3)} km"')
    assert wrongly_rounded("def f(x): return with_unit(near(x.bound, 3), x.unit)")
    assert not wrongly_rounded('def f(best): return f"no mechanism loses less than {text_below(best.bound, 6)}"')
    wrong = [f"{path.name}:{line}" for path in SOURCES for line in wrongly_rounded(path.read_text())]
    assert not wrong


def test_the_studio_rounds_bounds_to_their_side() -> None:
    """Its scripts have two functions for it; the nearest number is for what is no bound."""
    nearest = re.compile(r"\b(near|percent)\((100 \* )?\w+\.(bound|gap|moved)\b")
    assert nearest.search("near(answer.bound) + unit(answer)")
    wrong = [f"{path.name}: {found[0]}" for path in SCRIPTS for found in nearest.finditer(path.read_text())]
    assert SCRIPTS
    assert not wrong


def test_what_the_studio_rounds_lies_on_its_side() -> None:
    random = Random(1)
    given = [random.uniform(-1, 1) * 10.0 ** random.randint(-8, 12) for _ in range(300)] + [0.0, 9.9999, 1e-5, 8 / 135]
    script = SCRIPTS[0].with_name("dom.js").as_uri()
    code = (
        f"const {{ above, below }} = await import({json.dumps(script)});"
        f"console.log(JSON.stringify({json.dumps(given)}.map((x) => [below(x, 3), above(x, 3)])))"
    )
    done = subprocess.run([NODE, "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    for value, ends in zip(given, json.loads(done.stdout), strict=True):
        low, high = (read(text) for text in ends)
        assert low <= value <= high, (value, ends)
        assert high - low <= abs(value) / 99


def read(text: str) -> float:
    """A number as people write it, as a number again."""
    plain = text.translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")).replace(" × 10", "e")
    return float(re.sub(r"^10(-?\d+)$", r"1e\1", plain) if "10" in text and re.search("[⁻⁰-⁹¹²³]", text) else plain)
