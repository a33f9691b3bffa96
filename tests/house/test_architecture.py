"""The house keeps its own rules. Those about texts for people are in ``test_texts.py``."""

from __future__ import annotations

import ast
import re
import tomllib
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


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_readable(path: Path) -> None:
    assert path.stem not in {"utils", "helpers", "common", "misc", "core"}
    text = path.read_text()
    # the kernel runs alone, so it cannot be two files
    assert text.count("\n") <= (2800 if path.name == "kernel.py" else 600)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except at line {node.lineno}"
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno <= 80, node.name
            if node.name.startswith("test_"):
                body = ast.dump(node)
                asserts = ("Assert(", "raises", "assert_")  # the last is how NumPy compares arrays
                assert any(word in body for word in asserts), f"{node.name} asserts nothing"


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
