"""What stands at the root is what a newcomer is to find there: a file that a trial left behind is found out."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
STANDING = {
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("benchmarks", "constraints.txt", "docs", "hatch_build.py", "js", "pyproject.toml", "src", "tests"),
}
MADE = {"build", "dist", "out", "__pycache__"}
"""What commands write, and ``.gitignore`` names."""


def test_nothing_is_left_behind() -> None:
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert found - MADE == STANDING
