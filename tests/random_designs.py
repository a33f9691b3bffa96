"""Small random design problems whose least loss is known, exactly or between two rationals a hair's breadth apart.

Losses have entries that floats hold exactly, so the same problem can be put to the exact program and to solvers in
floats. Where a promise has no rational factors, two that have enclose it: a smaller α or larger distances allow more
mechanisms, so the least loss falls. The two optima are exact: primal and dual solutions in rationals agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.design.problem import problem
from sfumato.design.shares import SharesLost
from sfumato.design.solvers.linear import linear_program
from sfumato.lp import check_optimality, solve
from sfumato.numbers import exp_bounds, fractions

__all__ = ["KINDS", "Checked", "RandomProblem", "Truth", "checked", "least_loss", "random_problem"]

_LARGEST = 6  # secrets and actions
_BITS = 24  # of the rationals around e^-ε: what is left open is far below the tolerances that are tested
_LONGEST = 8000  # bits of an α: a promise may have a few more
_CHOICE = 1e-9  # of the stakes: by so little the action that floats choose for an output may miss the best
_NEAR_ZERO = 1e-9  # of the stakes: losses this small are rounding errors of what is at stake, and so are their gaps

Draws = np.random.Generator


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """A prior, a loss, a space, and promises on it: one with rational factors, one with an ε.

    Around each there are two promises for the exact program, a stricter and a looser one; the same twice where the
    factors of the promise are rational. They may be on another space with the same labels.
    """

    kind: str
    seed: tuple[int, int]
    prior: sf.Prior
    loss: sf.Loss
    rational: sf.PrivacyType
    irrational: sf.PrivacyType
    around_rational: tuple[sf.PrivacyType, sf.PrivacyType]
    around_irrational: tuple[sf.PrivacyType, sf.PrivacyType]

    @property
    def float_loss(self) -> sf.Loss:
        """The same numbers as floats: no exact solver will be asked."""
        return sf.Loss(self.loss.actions, self.loss.secrets, self.loss.matrix.astype(np.float64))

    @property
    def stakes(self) -> float:
        """Σ_x π_x max_w |ℓ(w, x)|: what rounding is measured by."""
        weights = self.prior.weights.astype(np.float64)
        return float(weights @ np.abs(self.loss.matrix.astype(np.float64)).max(axis=0))


@dataclass(frozen=True)
class Truth:
    """The least loss lies between these two."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class Checked:
    """One design beside the truth: what is wrong with it, if anything, and how far from the optimum it may be.

    ``near_zero``: the gap is larger than asked for, but loss and bound are equal up to rounding of what is at stake.
    """

    solver: str
    method: str = "none"
    gap: float = 0.0
    near_zero: bool = False
    complaints: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------------------ spaces


def _line(draws: Draws) -> sf.FiniteSpace:
    return sf.line(_size(draws), step=_length(draws))


def _discrete(draws: Draws) -> sf.FiniteSpace:
    return sf.discrete(_size(draws), distance=_length(draws))


def _cycle(draws: Draws) -> sf.FiniteSpace:
    return sf.cycle(_size(draws, 3))


def _star(draws: Draws) -> sf.FiniteSpace:
    return sf.spaces.star(_size(draws) - 1 or 1)


def _hamming(draws: Draws) -> sf.FiniteSpace:
    length, symbols = [(1, 2), (1, 3), (2, 2), (1, 5)][draws.integers(4)]
    return sf.hamming(length, symbols=symbols)


def _grid(draws: Draws) -> sf.FiniteSpace:
    shape = [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2)][draws.integers(5)]
    return sf.grid(*shape, metric=["manhattan", "chebyshev"][draws.integers(2)])  # type: ignore[arg-type]


def _graph(draws: Draws) -> sf.FiniteSpace:
    """A tree and some chords; now and then two parts that no path connects."""
    n = _size(draws, 2)
    edges = {(int(draws.integers(i)), i): _length(draws) for i in range(1, n)}
    for _ in range(draws.integers(4)):
        x, z = sorted(draws.choice(n, 2, replace=False).tolist())
        edges[x, z] = _length(draws)
    if draws.random() < 0.1:
        edges.pop(next(iter(edges)))
    return sf.graph(edges, labels=range(n))


def _metric(draws: Draws) -> sf.FiniteSpace:
    """Any table of rationals, made a metric by shortest paths: some triangles are flat, others are not."""
    n = _size(draws)
    return _space(_closed(_symmetric(n, lambda: _length(draws))))


def _flat(draws: Draws) -> sf.FiniteSpace:
    """Whole distances that nearly add up: a line, and a little more between some pairs."""
    n = _size(draws, 3)
    places = np.cumsum(draws.integers(6, 12, n)).tolist()
    extra = iter(draws.integers(0, 2, n * n).tolist())
    table = [[Fraction(abs(p - q)) for q in places] for p in places]
    more = _symmetric(n, lambda: Fraction(next(extra)))
    return _space(_closed([[a + b for a, b in zip(*rows, strict=True)] for rows in zip(table, more, strict=True)]))


def _perturbed(draws: Draws) -> sf.FiniteSpace:
    """The space that a perturbation starts from."""
    return [_line, _discrete, _cycle, _grid, _metric][draws.integers(5)](draws)


KINDS: dict[str, Callable[[Draws], sf.FiniteSpace]] = {
    "line": _line,
    "discrete": _discrete,
    "cycle": _cycle,
    "star": _star,
    "hamming": _hamming,
    "grid": _grid,
    "graph": _graph,
    "metric": _metric,
    "nearly flat": _flat,
    "perturbed": _perturbed,
}
"""Every kind of space by name; problems take them in turns."""


def _size(draws: Draws, least: int = 1) -> int:
    return int(draws.integers(least, _LARGEST + 1))


def _length(draws: Draws) -> Fraction:
    return Fraction(int(draws.integers(1, 7)), int(draws.choice([1, 1, 1, 2, 3])))


def _symmetric(n: int, entry: Callable[[], Fraction]) -> list[list[Fraction]]:
    table = [[Fraction(0)] * n for _ in range(n)]
    for x in range(n):
        for z in range(x):
            table[x][z] = table[z][x] = entry()
    return table


def _closed(table: list[list[Fraction]]) -> list[list[Fraction]]:
    """Shortest paths (Floyd and Warshall), exactly."""
    n = len(table)
    for y in range(n):
        table = [[min(table[x][z], table[x][y] + table[y][z]) for z in range(n)] for x in range(n)]
    return table


def _space(table: list[list[Fraction]]) -> sf.FiniteSpace:
    return sf.FiniteSpace(range(len(table)), [[_short(v) for v in row] for row in table])


def _short(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


# ------------------------------------------------------------------------------------------------- priors and losses


def _prior(draws: Draws, space: sf.FiniteSpace) -> sf.Prior:
    """Counts with zeros, weights of very different size, one secret alone, or all alike."""
    n = len(space)
    counts = [int(v) for v in draws.integers(0, 7, n)]
    manner = draws.integers(5)
    if manner == 1:
        counts = [10 ** int(v) for v in draws.integers(0, 31, n)]
    elif manner == 2:
        counts = [int(x == draws.integers(n)) for x in range(n)]
    elif manner == 3:
        counts = [1] * n
    counts[int(draws.integers(n))] += not any(counts)
    return sf.Prior.from_counts(counts, space)


def _loss(draws: Draws, space: sf.FiniteSpace) -> sf.Loss:
    """Multiples of 1/8: few different ones, so that there are ties; then actions repeated, worse ones, scales."""
    n, actions = len(space), int(draws.integers(1, _LARGEST + 1))
    most = int(draws.choice([1, 3, 40]))
    table = draws.integers(-most if draws.random() < 0.3 else 0, most + 1, (actions, n))
    manner = draws.integers(8)
    if manner == 0:
        table = np.minimum(np.abs(np.subtract.outer(np.arange(n), np.arange(n))), most)  # an action for each secret
    elif manner == 1:
        table = 1 - np.eye(n, dtype=np.int64)
    elif manner == 2 and actions > 1:
        table[-1] = table[0]
    elif manner == 3 and actions > 1:
        table[-1] = table[0] + draws.integers(0, 3, n)
    elif manner == 4 and draws.random() < 0.3:
        table = table * 0 + int(draws.integers(0, 2))
    scale = [Fraction(1), Fraction(1, 8), Fraction(2) ** 20, Fraction(1, 2**20)][
        draws.choice(4, p=[0.7, 0.2, 0.05, 0.05])
    ]
    return sf.Loss(range(len(table)), space, [[_short(int(v) * scale) for v in row] for row in table])


# ---------------------------------------------------------------------------------------------------------- promises


def random_problem(seed: int, number: int) -> RandomProblem:
    """One of the problems of a seed; the kind of space goes through :data:`KINDS` with the number."""
    draws = np.random.default_rng([seed, number])
    kind = [*KINDS][number % len(KINDS)]
    space = KINDS[kind](draws)
    prior, loss = _prior(draws, space), _loss(draws, space)
    epsilon = 10.0 ** draws.uniform(-3, np.log10(20))
    parts = space.ruler.unit.denominator  # distances are multiples of 1/parts, so factors are powers of this root
    root = _nearby_root(draws, epsilon / parts)
    rational = sf.PrivacyType(space, alpha=root**parts)
    irrational = sf.PrivacyType(space, epsilon=f"{epsilon:.4g}")
    if kind == "perturbed":
        return _with_perturbed_distances(draws, (seed, number), prior, loss, rational, irrational)
    around = _around(irrational, parts)
    made = RandomProblem(kind, (seed, number), prior, loss, rational, irrational, (rational, rational), around)
    small = len(space) <= 4 and not space.distances.infinite.any()  # hundredth powers are long numbers
    return _stretched(draws, made) if small and draws.random() < 0.15 else made


def _stretched(draws: Draws, plain: RandomProblem) -> RandomProblem:
    """The same types in another unit of distance: in units of a hundredth or of a hundred."""
    space, alpha, epsilon = plain.rational.space, plain.rational.alpha, plain.irrational.epsilon
    assert alpha is not None and epsilon is not None
    stretch, moved, same = Fraction(1, 100), alpha**100, plain.around_rational[0].alpha
    if draws.random() < 0.5:
        parts = 100 * space.ruler.unit.denominator
        root = Fraction(exp(-float(epsilon) / parts)).limit_denominator(max(50, int(2 * parts / epsilon)))
        stretch, moved, same = Fraction(100), root**space.ruler.unit.denominator, root**parts
    assert same is not None
    if max(moved.denominator, same.denominator).bit_length() > _LONGEST:
        return plain
    around = (sf.PrivacyType(space, alpha=same),) * 2
    table = [[_short(stretch * space.ruler.unit * int(v)) for v in row] for row in space.distances.values]
    far = sf.FiniteSpace(space.labels, table)
    promises = sf.PrivacyType(far, alpha=moved), sf.PrivacyType(far, epsilon=epsilon / stretch)
    return replace(plain, rational=promises[0], irrational=promises[1], around_rational=around)


def _nearby_root(draws: Draws, epsilon: float) -> Fraction:
    """A rational near e^-ε, of few digits or of many."""
    if epsilon > 2:
        return Fraction(1, round(exp(epsilon)))
    return Fraction(exp(-epsilon)).limit_denominator(max(int(draws.choice([50, 3000, 10**7])), int(2 / epsilon)))


def _around(privacy: sf.PrivacyType, parts: int, more: Fraction = Fraction(0)) -> tuple[sf.PrivacyType, sf.PrivacyType]:
    """Promises with rational factors, one that asks for more and one that asks for less, with distances 1 + more."""
    rate = privacy.rate_bounds(2 * _BITS)
    stricter = exp_bounds(-rate[0] / parts, _BITS)[1]
    looser = exp_bounds(-rate[1] * (1 + more) / parts, _BITS)[0]
    return sf.PrivacyType(privacy.space, alpha=stricter**parts), sf.PrivacyType(privacy.space, alpha=looser**parts)


def _with_perturbed_distances(
    draws: Draws, seed: tuple[int, int], prior: sf.Prior, loss: sf.Loss, *promises: sf.PrivacyType
) -> RandomProblem:
    """d ≤ d′ ≤ (1 + δ)d: chains of pairs that added up now do so nearly, or still do."""
    space = promises[0].space
    n, parts = len(space), space.ruler.unit.denominator
    delta = Fraction(1, 2 ** int(draws.integers(10, 50)))
    shares = draws.integers(0, 3, n * n).tolist()
    table = [[space.ruler.unit * int(v) for v in row] for row in space.distances.values]
    more = _symmetric(n, lambda: delta * shares.pop() / 2)
    # every distance is at least 1/3 here: (1 + 3δ)d ≥ d + δ
    sums = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(table, more, strict=True)]
    moved = sf.FiniteSpace(space.labels, [[_short(v) for v in row] for row in _closed(sums)])
    if draws.random() < 0.5:
        # doubles hold these multiples of 2^-51 exactly as long as the unit is 1
        moved = sf.FiniteSpace(moved.labels, moved.distances.floats) if parts == 1 else moved
    around = [_around(promise, parts, 3 * delta) for promise in promises]
    rational, irrational = (sf.PrivacyType(moved, epsilon=promise.epsilon, alpha=promise.alpha) for promise in promises)
    return RandomProblem("perturbed", seed, prior, loss, rational, irrational, around[0], around[1])


# ------------------------------------------------------------------------------------------------------------ checks


def least_loss(question: RandomProblem, around: tuple[sf.PrivacyType, sf.PrivacyType]) -> Truth:
    """By the exact program under the stricter and the looser promise; the four conditions of an optimum are exact."""
    values = []
    for privacy in dict.fromkeys(around):
        program = linear_program(problem(question.prior, question.loss, privacy), exact=True)
        solution = solve(program, exact=True)
        if any(check_optimality(program, solution).values()):
            raise AssertionError("the exact program is not solved")
        values.append(Fraction(solution.value))
    return Truth(values[-1], values[0])


def checked(
    question: RandomProblem, solvers: tuple[str, ...], tolerance: float = 1e-4, *, irrational: bool = True
) -> Iterator[Checked]:
    """Designs by several solvers under one promise or both, each beside the truth; warnings count as errors.

    The exact solver is among them wherever it can be. If the kernel proves loss and bound of its design to be equal,
    this is the truth, and no other program is asked. ``auto`` gets the loss in floats, because it would ask the exact
    solver again otherwise.
    """
    promises = [(question.rational, question.around_rational), (question.irrational, question.around_irrational)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SharesLost)  # a hint to people who ask questions
        for privacy, around in promises[: 1 + irrational]:
            truth, made = None, None
            try:
                if problem(question.prior, question.loss, privacy).exact:
                    made = sf.design(question.prior, question.loss, privacy, solver="exact", tolerance=tolerance)
                    truth = _proved_truth(made)
                truth = truth or least_loss(question, around)
            except Exception as error:
                yield Checked("exact" if made is None else "truth", complaints=(_said(error),))
                continue
            if made is not None:
                yield _beside(question, made, truth, "exact", tolerance)
            for solver in solvers:
                yield _checked(question, privacy, truth, solver, tolerance)


def _proved_truth(made: sf.Design) -> Truth | None:
    proof = sf.verify(made.mechanism, checker="kernel").witness
    return Truth(proof.bound, proof.loss) if proof.bound == proof.loss else None


def _checked(question: RandomProblem, privacy: sf.PrivacyType, truth: Truth, solver: str, tolerance: float) -> Checked:
    loss = question.float_loss if solver == "auto" else question.loss
    try:
        made = sf.design(question.prior, loss, privacy, solver=solver, tolerance=tolerance)
        return _beside(question, made, truth, solver, tolerance)
    except Exception as error:
        return Checked(solver, complaints=(_said(error),))


def _beside(question: RandomProblem, made: sf.Design, truth: Truth, solver: str, tolerance: float) -> Checked:
    complaints = [*_complaints(question, made, truth)]
    near_zero = made.gap > tolerance and float(made.loss - made.bound) <= _NEAR_ZERO * question.stakes
    if made.gap > tolerance and not near_zero:
        complaints.append(f"gap {made.gap:.1e}, loss {float(made.loss):.1e} of stakes {question.stakes:.1e}")
    return Checked(solver, made.method.split(",")[0], made.gap, near_zero, tuple(complaints))


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def _complaints(question: RandomProblem, made: sf.Design, truth: Truth) -> Iterator[str]:
    """Everything that should be true of a design and is not."""
    if made.bound > truth.high:
        yield f"bound above the optimum by {float(made.bound - truth.high):.1e}"
    if made.loss < truth.low:
        yield f"loss below the optimum by {float(truth.low - made.loss):.1e}"
    verdict = sf.verify(made.mechanism, checker="kernel")
    if verdict.outcome != "holds":
        yield f"the kernel refuses: {verdict.reason}"
    elif (verdict.witness.loss, verdict.witness.bound) != (made.loss, made.bound):
        yield "the kernel proves other numbers"
    lost = _losses(question, made)  # one row an output, one column an action
    actions, outputs = question.loss.actions, made.mechanism.outputs
    if set(made.remap) != set(outputs):
        yield "the remap does not fit the outputs"
        return
    chosen = sum(lost[y][actions.index(made.remap[label])] for y, label in enumerate(outputs))
    if chosen != made.loss:
        yield f"the remap has the loss {float(chosen)}, not {float(made.loss)}"
    if chosen - sum(min(row) for row in lost) > _CHOICE * question.stakes:
        yield "another remap is better"


def _losses(question: RandomProblem, made: sf.Design) -> Any:
    """Σ_x π_x M(x)(y) ℓ(w, x) for every output and action, in rationals, without any function of the library."""
    joint = fractions(question.prior.weights)[:, None] * fractions(made.mechanism.weights)
    return (joint.T @ fractions(question.loss.matrix).T / Fraction(made.mechanism.total)).tolist()
