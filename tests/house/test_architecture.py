"""The house keeps its own rules. Those about texts for people are in ``test_texts.py``."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato as sf

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_constraints_pin_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.+!-]+", line), line


def test_declared_dependencies_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[<>=\[;]", d)[0].lower() for d in wanted}
    pinned = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    assert names <= pinned, names - pinned


FOLDERS = sorted({path.parent for path in (*SOURCES, *TESTS)})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_readable(folder: Path) -> None:
    for path in (*SOURCES, *TESTS):
        if path.parent == folder:
            assert_readable(path)


def assert_readable(path: Path) -> None:
    assert path.stem not in {"utils", "helpers", "common", "misc", "core"}, path
    text = path.read_text()
    assert text.count("\n") <= (350 if path.parent.name == "kernel" else 600), path
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"{path}: bare except at line {node.lineno}"
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno <= 80, f"{path}: {node.name}"
            if node.name.startswith("test_"):
                body = ast.dump(node)
                asserts = ("Assert(", "raises", "assert_")  # the last is how NumPy compares arrays
                assert any(word in body for word in asserts), f"{path}: {node.name} asserts nothing"


def _written(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a function assigns to, each with its value."""
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign):
            yield node.target, node.target  # which is read as an array first
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield from ((part, node.value) for part in getattr(target, "elts", [target]))


@pytest.mark.parametrize("path", [p for p in SOURCES if "@njit" in p.read_text()], ids=lambda p: p.stem)
def test_compiled_functions_write_entries_or_constants_and_no_slices(path: Path) -> None:
    """Of each array that is assigned to a slice numba compiles a message about shapes, which takes a second or more."""
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef) or "njit" not in map(_name_of, function.decorator_list):
            continue
        for target, value in _written(function):
            sliced = isinstance(target, ast.Subscript) and any(isinstance(n, ast.Slice) for n in ast.walk(target.slice))
            names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} - {"np"}
            assert not (sliced and names), f"line {target.lineno}: {ast.unparse(target)} = {ast.unparse(value)}"


def _name_of(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def test_public_names_resolve_and_are_documented() -> None:
    assert len(sf.__all__) > 70
    for name in sf.__all__:
        assert getattr(sf, name).__doc__, name


def test_names_people_were_promised() -> None:
    promised = (
        "line grid discrete hamming cycle graph points geo query FiniteSpace PrivacyType Prior Channel losses "
        "satisfies smallest_epsilon refines posterior_loss optimal_remap leakage capacity verify repair quantise"
    )
    assert set(promised.split()) <= set(dir(sf))


def test_no_global_number_switch() -> None:
    """The number field belongs to the value: only bounded blocks may set FLINT's precision."""
    for path in SOURCES:
        assert not re.search(r"ctx\.(prec|dps)\s*=", path.read_text()), path


def test_points_are_counted_on_cells_in_one_place() -> None:
    """Which cell holds a point is decided by its borders, exactly: a histogram of floats would answer otherwise."""
    assert [path.name for path in SOURCES if re.search(r"histogram(2d|dd)\(", path.read_text())] == []
    counting = [path.name for path in SOURCES if re.search(r"def (cells_at|_?cell_counts)\(", path.read_text())]
    assert counting == ["earth.py"]


def test_one_rule_says_whether_axes_are_swapped() -> None:
    """Whoever asks it anew would answer otherwise for some points, and say it in other words."""
    spelled = [path.name for path in SOURCES if re.search(r"swapped: ", path.read_text())]
    assert spelled == ["axes.py"]
    found = {name for path in SOURCES for name in re.findall(r"def (\w*(?:swapped|exchanged)\w*)\(", path.read_text())}
    assert found == {"look_swapped", "called_swapped", "swapped_axes"}


RULES = ("telling_columns", "told_by_names", "told_by_type", "shape_of", "all_different")


def test_one_rule_book_says_which_columns_tell_places() -> None:
    """Hiding and releasing ask it alike; names of columns that tell places are known to nobody else."""
    ask = {path.stem for path in SOURCES for name in RULES if re.search(rf"\b{name}\(", path.read_text())}
    assert ask == {"telling", "others", "geometry"}
    patterns = [path.stem for path in SOURCES if re.search(r"\[0-9a-f\]\{14\}|GeometryCollection\"", path.read_text())]
    assert patterns == ["telling"]


def test_rows_of_files_come_in_by_one_reader_a_format() -> None:
    """Who reads a table otherwise takes other cells for the same rows; a library of shapes reads its own formats."""
    other = r"csv\.(?:reader|DictReader|Sniffer)\(|pyarrow\.csv|pa\.csv|read_csv\(|scan_csv\(.*\.csv"
    assert [path.stem for path in SOURCES if re.search(other, path.read_text())] == []
    for word, readers in {"def _scan_csv": ["lines_csv"], "def _scan_json": ["lines_json"],
                          "iter_batches(": ["reading", "streams"], "pa.ipc.open_": ["reading"]}.items():  # fmt: skip
        assert [path.stem for path in SOURCES if word in path.read_text()] == readers, word
