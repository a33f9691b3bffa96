"""Entries of a matrix that may move, and the pairs between them: what the first-order method streams past.

Columns fall off like e^{−dist} from the row for which they are best, so most entries of a large matrix say nothing:
they are left out and filled in at the end. The others are kept in one list, sorted by the class of their row. Every
row has slots for the pairs it is first in, as many as the row with most of them; entry e and slot k together are a
pair of entries, and its multiplier stands at ``[k, e]``. One more entry at the end stands for all that is left out.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.lp.cone.program import ColumnProgram, pairs_of_rows
from sfumato.numbers import Floats
from sfumato.watch import Watch

torch: Any = import_module("torch") if find_spec("torch") else None

_AT_ONCE = 1 << 25  # So many products of pairs and columns are held at a time, 256 MiB.


class Support:
    """Where the entries and pairs of a program are.

    Attributes
    ----------
    rows, columns
        Of each entry.
    after, before
        ``after[k, e]`` is the entry at the second end of pair k of entry e; ``before[j, e]`` is where, in the list of
        all multipliers, the j-th pair stands whose second end is e. What does not exist points to the last place.
    decay, share
        e^{−l} of every pair and what it gets of a dual step, one row a slot; one number a row where all are equal.
    real
        Which places hold a pair.
    lengths, sizes, owners
        Number of entries of each class, number of its rows, and the class of each entry.
    """

    def __init__(self, program: ColumnProgram, inside: Any) -> None:
        device = inside.device
        n, m = program.shape
        order = torch.tensor(np.argsort(program.row_classes, kind="stable"), device=device)
        listed, columns = torch.nonzero(inside[order], as_tuple=True)
        self.rows, self.columns, self.shape = order[listed], columns, (n, m)
        classes = torch.tensor(program.row_classes, device=device)
        self.owners = classes[self.rows]
        self.sizes = torch.tensor(program.sizes, device=device, dtype=torch.float64)
        self.lengths = torch.bincount(self.owners, minlength=len(self.sizes))
        self.count = len(self.rows)
        place = torch.full((n, m), self.count, dtype=torch.int32, device=device)
        place[self.rows, self.columns] = torch.arange(self.count, dtype=torch.int32, device=device)
        self.pair = torch.tensor(pairs_of_rows(program.first, n, -1), device=device)
        ends = torch.tensor(np.append(program.second, 0), device=device)
        slots = self.pair.shape[1]
        self.after = torch.full((slots, self.count + 1), self.count, dtype=torch.int32, device=device)
        for k in range(slots):
            pair = self.pair[self.rows, k]
            position = place[ends[pair], self.columns]
            self.after[k, :-1] = torch.where(pair >= 0, position, self.count)
        self.real = self.after < self.count
        self.before = self._before(program, place)
        logs = program.logs if len(program.logs) else np.ones(1)
        self.decay = self._spread(np.exp(-logs))
        self.share = self._spread(logs.min() / logs)

    def _before(self, program: ColumnProgram, place: Any) -> Any:
        device, (n, _), slots = place.device, self.shape, self.after.shape[0]
        arriving = torch.tensor(pairs_of_rows(program.second, n, -1), device=device)
        slot_of = np.zeros(len(program.first) + 1, dtype=np.int64)
        rows, k = np.nonzero(self.pair.cpu().numpy() >= 0)
        slot_of[self.pair.cpu().numpy()[rows, k]] = k
        slot = torch.tensor(slot_of, device=device)
        starts = torch.tensor(np.append(program.first, 0), device=device)
        nowhere = slots * (self.count + 1) - 1  # the last multiplier: always zero
        before = torch.full((arriving.shape[1], self.count + 1), nowhere, dtype=torch.int64, device=device)
        for j in range(arriving.shape[1]):
            pair = arriving[self.rows, j]
            position = place[starts[pair], self.columns].long()
            there = (pair >= 0) & (position < self.count)
            before[j, :-1] = torch.where(there, slot[pair] * (self.count + 1) + position, nowhere)
        return before.to(torch.int32) if nowhere < 2**31 else before

    def _spread(self, values: Floats) -> Any:
        """A number for each pair, for every place."""
        given = torch.tensor(values, device=self.after.device)
        if not np.ptp(values) > 0:
            return given[:1].expand(self.after.shape[0], 1).contiguous()
        chosen = torch.zeros(self.after.shape, dtype=torch.float64, device=given.device)
        chosen[:, :-1] = given[self.pair[self.rows].T]
        return chosen

    def field(self, matrix: Any, outside: float = 0.0) -> Any:
        """The entries of a matrix as a list, with a number for what is left out."""
        values = matrix[self.rows, self.columns]
        return torch.cat([values, values.new_full((1,), outside)])

    def matrix(self, field: Any) -> Any:
        """A list of entries as a matrix, zero elsewhere."""
        result = torch.zeros(self.shape, dtype=torch.float64, device=field.device)
        result[self.rows, self.columns] = field[:-1]
        return result

    def adjoint(self, z: Any) -> Any:
        """AᵀZ, for rows e^{−l} R_x − R_z of A."""
        if not len(z):
            return torch.zeros(self.count + 1, dtype=z.dtype, device=z.device)
        return (self.decay * z).sum(0) - self.arriving(z)

    def arriving(self, z: Any) -> Any:
        """What the pairs have that end at each entry."""
        return z.view(-1).index_select(0, self.before.view(-1)).view(self.before.shape).sum(0)

    def differences(self, field: Any) -> Any:
        """A of a field: e^{−l} R_x − R_z for every place; what is no pair gives anything."""
        return self.decay * field - self.at_ends(field)

    def at_ends(self, field: Any) -> Any:
        """The field at the second end of every pair."""
        return field.index_select(0, self.after.view(-1)).view(self.after.shape)

    def sums(self, field: Any) -> Any:
        """Σ over each class."""
        return torch.segment_reduce(field[:-1], "sum", lengths=self.lengths, unsafe=True)

    def extreme(self, field: Any, which: str) -> Any:
        """The largest or the smallest entry of each class."""
        return torch.segment_reduce(field[:-1], which, lengths=self.lengths, unsafe=True)

    def of_class(self, values: Any) -> Any:
        """A number for each class, for every entry, and 0 for what is left out."""
        spread = values.index_select(0, self.owners)
        return torch.cat([spread, spread.new_zeros(1)])

    def multipliers(self, z: Any, scale: float, pairs: int) -> Floats:
        """One row a pair of the program, one column a column."""
        result = np.zeros((pairs, self.shape[1]))
        rows, columns = self.rows.cpu().numpy(), self.columns.cpu().numpy()
        for k in range(len(z)):
            real = self.real[k, :-1].cpu().numpy()
            result[self.pair[:, k].cpu().numpy()[rows[real]], columns[real]] = scale * z[k, :-1].cpu().numpy()[real]
        return result


class Closure:
    """The least matrix above a given one that satisfies all pairs."""

    def __init__(self, program: ColumnProgram, device: Any) -> None:
        self.first = torch.tensor(program.first, device=device)
        self.second = torch.tensor(program.second, device=device)
        self.decay = torch.exp(-torch.tensor(program.logs, device=device))[:, None]
        self.lattice = lattice_shape(program)

    def close(self, field: Any, watch: Watch | None = None) -> None:
        """Raise entries in place, up to 1e-12 of what all sum to; raises TimeIsUp midway if there is a watch."""
        if self.lattice is not None:
            cells = field.view(*self.lattice, field.shape[1])
            for axis in (0, 1):
                for forward in (True, False):
                    _raise_along(cells, axis, forward, float(self.decay[0, 0]))
            return
        width = max(1, _AT_ONCE // max(1, len(self.first)))
        for start in range(0, field.shape[1], width):
            self._close_columns(field[:, start : start + width], watch or Watch())

    def _close_columns(self, field: Any, watch: Watch) -> None:
        before = float(field.sum())
        for _ in range(len(field) if len(self.first) else 0):
            watch.check()
            raised = field.index_select(0, self.first).mul_(self.decay)
            field.scatter_reduce_(0, self.second[:, None].expand_as(raised), raised, "amax")
            after = float(field.sum())
            if after <= before * (1 + 1e-12):
                return
            before = after


def _raise_along(cells: Any, axis: int, forward: bool, decay: float) -> None:
    """Doubled strides: after ⌈log₂ length⌉ rounds everything along this direction has been seen."""
    length, step = cells.shape[axis], 1
    while step < length and decay > 0:
        low, high = cells.narrow(axis, 0, length - step), cells.narrow(axis, step, length - step)
        source, target = (low, high) if forward else (high, low)
        target.copy_(torch.maximum(target, source * decay))
        step, decay = 2 * step, decay * decay


def lattice_shape(program: ColumnProgram) -> tuple[int, int] | None:
    """Rows and columns of the grid, in row-major order, whose neighbours are the pairs, all with one bound.

    Examples
    --------
    >>> first, second = [0, 1, 2, 3, 0, 2, 1, 3], [1, 0, 3, 2, 2, 0, 3, 1]
    >>> lattice_shape(ColumnProgram(np.eye(4), first, second, np.ones(8)))
    (2, 2)
    >>> lattice_shape(ColumnProgram(np.eye(4), first[1:], second[1:], np.ones(7))) is None
    True
    """
    n, first, second = len(program.cost), program.first, program.second
    width = int(np.abs(first - second).max(initial=0))
    width = n if width == 1 else width
    if width < 2 or n % width or np.ptp(program.logs) > 0:
        return None
    height = n // width
    steps = np.abs(first // width - second // width) + np.abs(first % width - second % width)
    complete = len(np.unique(first * n + second)) == 2 * (height * (width - 1) + (height - 1) * width)
    return (height, width) if bool((steps == 1).all()) and complete else None
