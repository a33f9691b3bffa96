"""lrs, exact reverse search, as an oracle: the same vertices and the same kernels, number by number."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf

pytestmark = pytest.mark.peers

Rows = Sequence[Sequence[Fraction | int]]
Ask = Callable[[Rows, Rows], list[list[str]]]

PROMISES = [
    sf.PrivacyType(space, alpha=alpha)
    for space in (sf.line(4), sf.line(5), sf.discrete(4), sf.hamming(2), sf.spaces.star(4))
    for alpha in ("1/2", "2/3")
]


@pytest.fixture
def lrs(tmp_path: Path) -> Ask:
    """Vertices of {x : b + a·x = 0, c + d·x ≥ 0}, given as rows (b, a) and (c, d)."""
    wheel = Path(sysconfig.get_path("platlib"), "sage_wheels", "bin")
    program = shutil.which("lrs") or shutil.which("lrs", path=str(wheel))
    assert program is not None, "needs lrs: pip install passagemath-lrslib, or the package lrslib of the system"

    def ask(equalities: Rows, inequalities: Rows) -> list[list[str]]:
        rows = [*equalities, *inequalities]
        problem, output = tmp_path / "polytope.ine", tmp_path / "vertices.ext"
        problem.write_text(
            f"polytope\nH-representation\nlinearity {len(equalities)} "
            f"{' '.join(str(i + 1) for i in range(len(equalities)))}\nbegin\n{len(rows)} {len(rows[0])} rational\n"
            + "".join(" ".join(map(str, row)) + "\n" for row in rows)
            + "end\n"
        )
        said = subprocess.run([program, problem, output], capture_output=True, text=True, check=True).stdout
        text = output.read_text()
        points = [line.split()[1:] for line in text.splitlines() if line.startswith(" 1 ")]
        totals = re.search(r"vertices=(\d+) rays=0", said + text)
        assert totals is not None and int(totals[1]) == len(points)
        return points

    return ask


@pytest.mark.parametrize("privacy", PROMISES, ids=repr)
def test_vertices(lrs: Ask, privacy: sf.PrivacyType) -> None:
    n = len(privacy.space)
    bounds = []
    for x, z in ((x, z) for x in range(n) for z in range(n) if x != z):  # implied pairs too
        row: list[Fraction | int] = [0] * (n + 1)
        row[1 + x], row[1 + z] = -1, (1 / Fraction(privacy.alpha)) ** int(privacy.space.distances.values[x, z])
        bounds.append(row)
    ours = sf.types.vertices(privacy)
    theirs = lrs([[-1] + [1] * n], bounds)
    assert len(theirs) == len(ours)
    assert exact(theirs) == {tuple(vertex.posterior.weights) for vertex in ours}


@pytest.mark.parametrize("privacy", PROMISES, ids=repr)
def test_kernels(lrs: Ask, privacy: sf.PrivacyType) -> None:
    rays = [vertex.ray for vertex in sf.types.vertices(privacy)]
    found = sf.types.kernels(privacy)
    ours = set()
    for kernel in found:
        weights = dict(zip(kernel.support, kernel.weights, strict=True))
        ours.add(tuple(weights.get(i, Fraction(0)) for i in range(len(rays))))
    theirs = lrs(equations(rays), signs(len(rays)))
    assert len(theirs) == len(found)
    assert exact(theirs) == ours


@pytest.mark.parametrize("space", [sf.line(6), sf.discrete(5), sf.cycle(5), sf.hamming(3)], ids=repr)
def test_supports_of_many_kernels(lrs: Ask, space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, alpha="1/2")
    rays = [vertex.ray for vertex in sf.types.vertices(privacy)]
    theirs = lrs(equations(rays), signs(len(rays)))
    assert len(theirs) == sf.types.count_kernels(privacy)
    supports = {tuple(i for i, weight in enumerate(point) if weight != "0") for point in theirs}
    assert supports == {kernel.support for kernel in sf.types.kernels(privacy)}


def exact(points: list[list[str]]) -> set[tuple[Fraction, ...]]:
    return {tuple(map(Fraction, point)) for point in points}


def equations(rays: Sequence[Sequence[Fraction]]) -> Rows:
    """Σ a_i v_i = 1, one row for each secret."""
    return [[Fraction(-1), *column] for column in zip(*rays, strict=True)]


def signs(count: int) -> Rows:
    return [[0, *(int(i == j) for j in range(count))] for i in range(count)]
