"""Values of estimates of shares that several independent programs agree on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.measures import share_variance

# e^ε = 2 per step, uniform distribution, all shares: the optimum, and the geometric mechanism
LINES = {3: (7.9848, 10.8889), 4: (11.0818, 15.25), 5: (13.8943, 18.3333), 6: (16.3816, 20.5833), 7: (18.3652, 22.2738)}


@pytest.mark.parametrize("n", LINES)
def test_lines_beside_the_geometric_mechanism(n: int) -> None:
    space = sf.line(n)
    privacy, uniform = sf.PrivacyType(space, alpha="1/2"), sf.Prior.uniform(space)
    best = sf.design(uniform, None, privacy, objective="shares", tolerance=1e-9)
    known = share_variance(uniform, sf.geometric(privacy).channel)
    assert float(best.loss) == pytest.approx(LINES[n][0], abs=2e-4)
    assert float(known) == pytest.approx(LINES[n][1], abs=1e-4)
    assert best.gap < 1e-9 and best.proved
    assert best.mechanism.proof.loss == best.loss and best.mechanism.proof.bound == best.bound


@pytest.mark.parametrize(("n", "value"), [(4, Fraction(27, 4)), (6, Fraction(625, 48))])
def test_plain_local_privacy_has_subset_selection(n: int, value: Fraction) -> None:
    space = sf.discrete(n)
    best = sf.design(None, None, sf.PrivacyType(space, alpha="1/3"), objective=sf.objectives.shares())
    assert best.loss == value  # the exact optimum: masses are simple fractions
    assert best.gap < 1e-12


def subset_selection(n: int, factor: int) -> Fraction:
    """tr W⁻¹ − 1/n of the best subset size k: W has n in the direction of ones, and (trace − n)/(n − 1) elsewhere."""
    values = []
    for k in range(1, n):
        trace = Fraction(n * n * (k * factor**2 + n - k), (k * factor + n - k) ** 2)
        values.append(Fraction(1, n) + (n - 1) ** 2 / (trace - n) - Fraction(1, n))
    return min(values)


@pytest.mark.parametrize("n", [3, 5, 8, 10, 12])
def test_the_theorem_on_subset_selection_comes_out(n: int) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha="1/3")
    best = sf.design(None, None, privacy, objective="shares", tolerance=1e-9)
    assert float(best.loss / subset_selection(n, 3)) == pytest.approx(1, abs=1e-9)
    assert float(best.bound / subset_selection(n, 3)) == pytest.approx(1, abs=1e-9)


def test_a_mean_on_a_line_is_told_by_few_outputs() -> None:
    best = sf.design(None, None, sf.PrivacyType(sf.line(5), alpha="1/2"), objective=sf.objectives.shares("mean"))
    assert float(best.loss) == pytest.approx(149 / 30, abs=1e-9)
    assert np.linalg.matrix_rank(np.asarray(best.mechanism.channel.matrix, dtype=float)) <= 5


def worst_variance(matrix: np.ndarray, wanted: np.ndarray) -> float:
    """The figure of McKenna, Maity, Mazumdar and Miklau (2020): of estimates by V = A M⁺, M with a column a secret, the
    largest over secrets of Σ_y M_yx |v_y|² − |A_x|².
    """
    levers = wanted @ np.linalg.pinv(matrix, rcond=1e-8)
    return float(((levers**2) @ matrix - wanted**2).sum(axis=0).max())


def hadamard_response(n: int, factor: float) -> np.ndarray:
    """Acharya, Sun and Zhang (2019), outputs × secrets."""
    blocks = 2 ** max(int(np.ceil(np.log2(min(factor, 2 * n)))) - 1, 0)
    side = 2 ** int(np.ceil(np.log2(n / blocks + 1)))
    hadamard = np.array([[1.0]])
    while len(hadamard) < side:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    table = -np.ones((blocks * side, blocks * side))
    for k in range(blocks):
        table[k * side : (k + 1) * side, k * side : (k + 1) * side] = hadamard
    table = np.delete(table, range(0, blocks * side, side), axis=1)[:, :n]
    table = np.where(table > 0, factor, 1.0)
    return table / table.sum(axis=0)


def test_the_published_figure_is_reproduced_for_known_mechanisms() -> None:
    n, factor = 128, float(np.e)
    prefix = np.tril(np.ones((n, n)))
    response = (np.ones((n, n)) + (factor - 1) * np.eye(n)) / (factor + n - 1)
    # M = aI + b11ᵀ has M⁻¹ = (I − b 11ᵀ)/a, since a + bn = 1: v_y = A_y/a − (b/a) Σ_x A_x
    a, b = (factor - 1) / (factor + n - 1), 1 / (factor + n - 1)
    levers = (prefix - b * prefix.sum(axis=1, keepdims=True)) / a
    by_hand = max(a * levers[:, x] @ levers[:, x] + b * (levers**2).sum() - prefix[:, x].sum() for x in range(n))
    assert worst_variance(response, prefix) == pytest.approx(by_hand, rel=1e-9)
    levels = [np.kron(hadamard_response(n // 4**k, factor), np.ones(4**k)) for k in range(4)]
    assert worst_variance(np.vstack(levels) / 4, prefix) == pytest.approx(5665.56, abs=0.01)  # as published
