"""How many rows of one person are released: the first so many of each, in the order of the table.

A promise is about a row. Who has several rows is told about by all of them, and the factors multiply: k rows cost k
times as much. So the rows of a person are held to a number. Which of them are released depends on who they belong to
and on their order, never on what is hidden in them, and a row that is left out for another reason counts all the same.

Persons are told apart by 64 bits of a digest of their ids: two of 10⁷ share one by a chance of 10⁻⁶, and are then held
to the number together. One number for each person is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import keyword, shown
from sfumato.release.keys import id_digests
from sfumato.release.rows import BadRow, Values

_SALT = b"sfumato persons\0"


@dataclass(eq=False)
class Persons:
    """The rows of each person so far."""

    column: str
    most: int
    beyond: str = "error"
    counts: dict[int, int] = field(default_factory=dict, repr=False)
    left_out: int = 0

    def within(self, values: Values, first: int) -> NDArray[np.bool_]:
        """Which of the next rows are among the first ``most`` of their person.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from sfumato.release.rows import TypedValues
        >>> persons = Persons("who", 2, "drop")
        >>> persons.within(TypedValues(pa.array(["a", "b", "a", "a"])), 0).tolist()
        [True, True, True, False]
        >>> persons.within(TypedValues(pa.array(["b", "b"])), 4).tolist(), persons.left_out
        ([True, False], 2)
        """
        digests = id_digests([values.texts(self.column, first)], _SALT)
        marks = np.ascontiguousarray(digests[:, :8]).view("<i8").ravel()
        known, person, many = np.unique(marks, return_inverse=True, return_counts=True)
        before = self._before(known.tolist(), many.tolist())
        order = np.argsort(person, kind="stable")
        starts = np.repeat(np.cumsum(many) - many, many)
        rank = np.empty(len(marks), dtype=np.int64)
        rank[order] = np.arange(len(marks)) - starts
        fine: NDArray[np.bool_] = np.asarray(rank + before[person] < self.most)
        if self.beyond == "error" and not fine.all():
            row = int(np.argmin(fine))
            raise BadRow(
                f"{shown(self.column)} is {shown(values.value(row))}, who has more than {self.most} rows: "
                f"{keyword('beyond', 'drop')} releases the first {self.most} of each, {keyword('most_rows')} allows "
                "more, which cost as much more",
                first + row + 1,
                values.value(row),
            )
        self.left_out += int((~fine).sum())
        return fine

    def _before(self, known: Sequence[int], many: Sequence[int]) -> NDArray[np.int64]:
        """How many rows these had before, to which their new ones are added."""
        counts, before = self.counts, []
        for mark, new in zip(known, many, strict=True):
            old = counts.get(mark, 0)
            counts[mark] = old + new
            before.append(old)
        return np.array(before, dtype=np.int64)
