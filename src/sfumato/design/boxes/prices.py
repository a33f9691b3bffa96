"""Prices of the secrets of a finite problem: at once, or window by window.

A window is a part of the map with its own secrets, and a margin around them. A column falls by e^(−ε) with every unit
of length, so that what lies outside of the margin hardly changes the prices within. Prices of windows that are put side
by side are a proposal as any other: whether all outputs are covered is looked at afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, product
from math import ceil, gcd

import numpy as np
from scipy.sparse import csr_array

from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.symmetry import orbits_of_cells
from sfumato.errors import NotConverged
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.program import Ending
from sfumato.numbers import Floats, Integers
from sfumato.processes import SideBySide
from sfumato.spaces.box import NORMS
from sfumato.watch import Watch

# Euclidean pairs of secrets up to so many steps apart along an axis enter the program, by the dimension of the box. In
# the plane all others follow from those of 3 steps up to a factor of 1.013 of their distance, of 5 steps up to 1.005.
_REACH = {1: (1, 1), 2: (3, 5), 3: (1, 2)}
# The smallest prices are forgone up to this part of their sum.
_FORGONE = 3e-4
# In windows secrets where fewer than this part of the mean live have no price. It would have to be covered wherever an
# output is: that is most of the multipliers for a part of the bound, 1 to 3 % of it in New York.
_DESERTED = 1e-2
# No price of windows asks for anything at outputs farther than this from the secret, in 1/ε.
_FARTHEST = 5.0
# ε times the side of the core of a window, and of the margin around it.
_CORE, _MARGIN = 8.0, 3.0
_ACCURACY = 5e-3  # the gap of a window, at most: less than what its margin costs
# Of many outputs those that bring less than this part of an even share are left out: where people live unevenly, most.
# If a price should have needed one, covering all corners finds out.
_VANISHING, _MANY_OUTPUTS = 0.5, 150


def _pairs(problem: FiniteProblem, thorough: bool) -> tuple[Integers, Integers, Floats]:
    """Ordered pairs of secrets by short offsets that go in no common multiple, and their ε‖x − x′‖."""
    k, metric = len(problem.shape), problem.box.metric
    reach = _REACH[k][thorough] if metric == "euclidean" else 1
    numbers = np.arange(len(problem.places)).reshape(problem.shape)
    first, second, logs = [], [], []
    for offset in product(range(-reach, reach + 1), repeat=k):
        if gcd(*offset) != 1 or (metric == "manhattan" and sum(map(abs, offset)) > 1):
            continue
        here = tuple(slice(max(0, -o), side - max(0, o)) for o, side in zip(offset, problem.shape, strict=True))
        there = tuple(slice(max(0, o), side - max(0, -o)) for o, side in zip(offset, problem.shape, strict=True))
        if any(part.start >= part.stop for part in here):
            continue
        first.append(numbers[here].ravel())
        second.append(numbers[there].ravel())
        length = float(np.linalg.norm(np.array(offset) * problem.step, ord=NORMS[metric]))
        logs.append(np.full(first[-1].size, problem.rate * length))
    if not first:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate(first), np.concatenate(second), np.concatenate(logs)


def _pairs_among(problem: FiniteProblem, live: Integers, thorough: bool) -> tuple[Integers, Integers, Floats]:
    """The pairs of :func:`_pairs` among some secrets, which are counted from 0."""
    number = np.full(len(problem.places), -1)
    number[live] = np.arange(len(live))
    first, second, logs = _pairs(problem, thorough)
    both = (number[first] >= 0) & (number[second] >= 0)
    return number[first[both]], number[second[both]], logs[both]


def prices(
    problem: FiniteProblem, level: int, fine: int, tolerance: float, watch: Watch, thorough: bool = False,
    people: float = -1.0, threads: int | None = None,
) -> Floats:  # fmt: skip
    """A price for every secret, whose sum is nearly the best of the program with outputs on a grid.

    Outputs lie at the secrets and, halved ``fine`` times, between them; losses are lowered for cubes of ``level``.
    More pairs of secrets are looked at where it is to be ``thorough``. Secrets where no more than a part ``people`` of
    the mean live are left out, and have no price.
    """
    sides = tuple((side - 1 << fine) + 1 for side in problem.shape)
    chosen = orbits_of_cells(problem.group, sides).representatives
    where = np.stack(np.unravel_index(chosen, sides), axis=-1)
    live = np.flatnonzero(problem.masses > people * problem.masses.mean())
    cost = problem.masses[live, None] * problem.lowered(where << (level - fine), level, live)
    first, second, logs = _pairs_among(problem, live, thorough)
    pairs = np.arange(len(first))
    entries = np.concatenate([-np.exp(-logs), np.ones(len(pairs))])
    ends = np.tile(pairs, 2), np.concatenate([first, second])
    rows = csr_array((entries, ends), shape=(len(pairs), len(live)))
    sums, totals = problem.secrets.sums
    kept = np.unique(problem.secrets.classes[live])
    program = BlockProgram(cost, ((rows,),) if len(pairs) else (), sums[kept][:, live], totals[kept])
    vanishing = _VANISHING if cost.shape[1] >= _MANY_OUTPUTS else 0.0
    solution = solve_blocks(program, tolerance=tolerance, time_limit=watch, vanishing=vanishing, threads=threads)
    if solution.ended is Ending.INTERRUPTED:  # covering these prices takes longer than to solve for them
        raise KeyboardInterrupt
    reduced = cost[:, solution.columns]
    for block, dual in zip(program.blocks, solution.duals, strict=True):
        for matrix, part in zip(block, dual, strict=True):
            reduced -= matrix.T @ part
    price = np.zeros(len(sums.indptr) - 1)
    price[kept] = program.least(reduced)
    return _without_small(price[problem.secrets.classes])


@dataclass(frozen=True, eq=False)
class WindowTask:
    """A window that is to be priced, as it travels; ``seconds`` may be taken."""

    window: FiniteProblem
    level: int
    tolerance: float
    seconds: float | None


def priced(task: WindowTask) -> Floats:
    """The prices of a window; 0 where the time is not enough."""
    if task.seconds != 0.0:
        with suppress(NotConverged):
            watch = Watch(task.seconds)
            return prices(task.window, task.level, 0, task.tolerance, watch, people=_DESERTED, threads=1)
    return np.zeros(len(task.window.places))


def _around(
    core: tuple[slice, ...], margin: list[int], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lower and the upper end of a core with its margin."""
    low = tuple(max(0, part.start - more) for part, more in zip(core, margin, strict=True))
    return low, tuple(min(n, part.stop + more) for part, more, n in zip(core, margin, shape, strict=True))


def window_prices(
    problem: FiniteProblem, level: int, tolerance: float, watch: Watch, apart: SideBySide | None = None
) -> Floats:
    """Prices for every secret, window by window, those with most people first; 0 where the time was not enough.

    A window is as wide as its core and a margin on either side; the prices of the core are kept.
    """
    steps = problem.rate * problem.step
    margin = [ceil(_MARGIN / step) for step in steps]
    price, masses = np.zeros(problem.shape), problem.masses.reshape(problem.shape)
    every = [(masses[core].sum(), core) for core in _cores(problem.shape, steps)]
    cores = [core for mass, core in sorted(every, key=lambda one: -one[0]) if mass > _FORGONE / len(every)]

    windows = [_around(core, margin, problem.shape) for core in cores]

    def task(place: tuple[tuple[int, ...], tuple[int, ...]]) -> WindowTask:
        return WindowTask(problem.window(*place), level, min(tolerance, _ACCURACY), watch.left)

    found = (apart or SideBySide()).each(priced, windows, task)
    for core, (low, high), part in zip(cores, windows, found, strict=True):
        own = tuple(slice(along.start - start, along.stop - start) for along, start in zip(core, low, strict=True))
        price[core] = part.reshape([end - start for start, end in zip(low, high, strict=True)])[own]
    return _without_small(_within_reach(problem, price.ravel()))


def _within_reach(problem: FiniteProblem, price: Floats) -> Floats:
    """Prices that ask for nothing farther off than ``_FARTHEST``; neighbours take over what is too much.

    A column has at z at least e^(−ε‖z − x‖) of what it has at x. So x may give up a part of its price for so much less
    that its neighbour z takes, and no output is worse covered than before.
    """
    most = _FARTHEST / problem.rate * problem.masses
    room, asked = np.maximum(most - price, 0.0), np.minimum(price, most)
    where = problem.rate * problem.step * problem.places
    for x in np.flatnonzero(price > most).tolist():
        excess = price[x] - most[x]
        apart = np.linalg.norm(where - where[x], ord=NORMS[problem.box.metric], axis=1)
        near = np.flatnonzero((apart < 2.5) & (room > 0))
        for z in near[np.argsort(apart[near])].tolist():
            taken = min(room[z], excess * np.exp(-apart[z]))
            asked[z] += taken
            room[z] -= taken
            excess -= taken * np.exp(apart[z])
            if excess <= 0:
                break
    return asked


def _cores(shape: tuple[int, ...], steps: Floats) -> list[tuple[slice, ...]]:
    """Parts of a table of secrets, about ``_CORE`` wide."""
    along = []
    for n, step in zip(shape, steps, strict=True):
        many = max(1, round(n * step / _CORE))
        along.append([slice(a, b) for a, b in pairwise(np.linspace(0, n, many + 1).astype(int).tolist())])
    return list(product(*along))


def _without_small(price: Floats) -> Floats:
    """The same prices without the smallest: where nearly nobody lives, they are next to nothing, and take long to
    cover.
    """
    order = np.argsort(price)
    small = order[np.cumsum(np.maximum(price[order], 0.0)) <= _FORGONE * price.sum()]
    price[small] = np.minimum(price[small], 0.0)
    return price
