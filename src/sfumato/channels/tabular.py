"""Tables with labels: what Channel, Mechanism, Loss and Gain share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import flag
from sfumato.errors import InvalidInput, Mismatch, shown
from sfumato.labels import label_key, pandas_frame
from sfumato.numbers import Array, floats, fractions

if TYPE_CHECKING:  # an extra
    import pandas


def as_numpy(values: Array, dtype: Any, copy: bool | None) -> NDArray[Any]:
    """What NumPy is given: doubles, or fractions where it asks for objects; a view only where nothing changes."""
    if dtype is not None and np.dtype(dtype) == object:
        table: NDArray[Any] = fractions(values)
    else:
        table = floats(values).astype(np.float64 if dtype is None else dtype, copy=False)
    if copy is False and table is not values:
        raise ValueError("the numbers are stored in another form: they cannot be had without a copy")
    return table.copy() if copy else table


class Tabular(ABC):
    """A table with labels on its rows and columns, which are found by label and never by position.

    ``np.asarray(table)`` has the numbers as doubles and ``np.asarray(table, dtype=object)`` as fractions;
    :meth:`to_pandas` has the labels too.
    """

    __iter__ = None  # by ``__getitem__`` alone Python would go through 0, 1, …, which may be labels or not

    @property
    @abstractmethod
    def _axes(self) -> tuple[tuple[str, tuple[Any, ...]], tuple[str, tuple[Any, ...]]]:
        """What rows and columns are called, with their labels."""

    def _place(self, key: Any) -> tuple[int, int | None]:
        """Row and column of a pair of labels, or the row of one label; what could be both is an error.

        A label may itself be a tuple, as on a grid.
        """
        (row_name, rows), (column_name, columns) = self._axes
        row = _index(key, rows)
        pair = key if isinstance(key, tuple) and len(key) == 2 else None
        if pair is not None:
            x, y = _index(pair[0], rows), _index(pair[1], columns)
            if x is not None and y is not None:
                if row is None:
                    return x, y
                also = f"and also a {row_name} with a {column_name}"
                raise InvalidInput(f"{shown(key)} is a {row_name}, {also}: labels must tell these apart")
            if row is None:
                name, labels, label = (row_name, rows, pair[0]) if x is None else (column_name, columns, pair[1])
                raise Mismatch.unknown(f"the {name} of a table", labels, (label,))
        if row is None:
            raise Mismatch.unknown(f"the {row_name} of a table", rows, (key,))
        return row, None

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The numbers, as :func:`as_numpy` gives them."""

    def to_pandas(self, *, exact: bool = False) -> pandas.DataFrame:
        """The table as a pandas DataFrame with the labels of rows and columns; of fractions where ``exact``.

        Whatever takes a table with labels takes it back: ``Channel(space, channel.to_pandas(exact=True))``.

        Raises
        ------
        MissingExtra
            Without pandas (extra ``pandas``).
        """
        kind = object if flag(exact, "exact") else None
        return pandas_frame(np.asarray(self, dtype=kind), *self._axes)


def _index(label: Any, labels: tuple[Any, ...]) -> int | None:
    """Where a label stands; 1 is 1.0 and not True."""
    key = label_key(label)
    return next((place for place, other in enumerate(labels) if label_key(other) == key), None)
