"""What smooth rounding costs on a square: the table of ``docs/theory/coordinates.md``, by a program written here."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array, kron

import sfumato as sf
from effort import a_few
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.numbers import Floats
from sfumato.spaces.box import box
from sfumato.spaces.splines import Axis, bernstein_rows, dense, rounding_of

GAP = 1e-5


def quadrature(axis: Axis, parts: int = 3) -> tuple[Floats, Floats]:
    """Places along an axis, four in each of the parts of a cell, and how much each counts for a lattice point."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    places, counted = [], []
    for low, high in pairwise(map(float, axis.breaks)):
        width = (high - low) / parts
        for part in range(parts):
            places += [low + width * (part + (node + 1) / 2) for node in nodes]
            counted += [width * weight / 2 for weight in weights]
    table = np.zeros((len(places), len(axis)))
    for i, (place, weight) in enumerate(zip(places, counted, strict=True)):
        for v, share in axis.rounding(Fraction(place)).items():
            table[i, v] = weight * float(share)
    return np.array(places), table


def grid(marks: Floats) -> Floats:
    return np.stack(np.meshgrid(marks, marks, indexing="ij"), -1).reshape(-1, 2)


def square_loss(size: int, cells: int, across: int, degree: int, halvings: int) -> float:
    """The least loss on the square [0, 1]² with εL = ``size``, a uniform prior, and ``across``² outputs."""
    axis = rounding_of(box((1, 1), step=f"1/{cells}"), degree=degree).axes[0]
    places, counted = quadrature(axis)
    outputs = grid((np.arange(across) + 0.5) / across)
    away = np.linalg.norm(grid(places)[:, None] - outputs[None], axis=2).reshape(len(places), len(places), -1)
    cost = np.einsum("jw,ijy->iwy", counted, away)
    cost = np.einsum("iv,iwy->vwy", counted, cost).reshape(len(axis) ** 2, -1)
    values, slopes = (csr_array(dense(rows, len(axis))) for rows in bernstein_rows(axis, halvings))
    block = tuple(csr_array(kron(*pair)) for pair in ((size * values, values), (slopes, values), (values, slopes)))
    found = solve_blocks(BlockProgram(cost, [block]), tolerance=GAP)
    assert found.bound <= found.value <= found.bound * (1 + 2 * GAP)
    return found.value


@pytest.mark.parametrize(
    ("size", "cells", "across", "degree", "halvings", "printed"),
    [
        (8, 8, 8, 1, 0, 0.2359),
        (8, 8, 8, 2, 0, 0.2075),
        (8, 8, 8, 2, 1, 0.2021),
        (8, 12, 9, 1, 0, 0.2227),
        (8, 12, 9, 2, 0, 0.2005),
        (8, 12, 9, 2, 1, 0.1973),
        (4, 8, 8, 1, 0, 0.3072),
        (4, 8, 8, 2, 0, 0.2916),
        (4, 8, 8, 2, 1, 0.2898),
        (4, 12, 9, 2, 0, 0.2884),
    ],
)
def test_the_table_of_the_page(size: int, cells: int, across: int, degree: int, halvings: int, printed: float) -> None:
    assert square_loss(size, cells, across, degree, halvings) == pytest.approx(printed, abs=7e-5)


def test_planar_laplace_noise_loses_more() -> None:
    """2/ε on the whole plane: what is gained on a square is a fifth and more."""
    assert square_loss(8, 8, 8, 2, 1) < 0.82 * 2 / 8


@pytest.mark.parametrize(("size", "reached"), a_few([(4, 0.2860), (8, 0.1939)], 1))
def test_designs_on_a_square_are_as_good_as_fine_lattices(size: int, reached: float) -> None:
    """Within what the design says of itself: lattices of 24² cells and 13² outputs reach these losses."""
    square = box((1, 1), step="1/8")
    privacy = sf.PrivacyType(square, epsilon=size)
    best = sf.design(sf.Prior.uniform(square), sf.losses.distance(square), privacy, tolerance=0.06)
    assert best.gap <= 0.06
    assert best.bound < reached < best.loss * Fraction(101, 100)
    assert best.loss < reached * Fraction(104, 100)
