"""Channels: how a secret is disclosed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import answer_of
from sfumato.channels.prior import Prior, secrets_of
from sfumato.channels.tabular import Tabular, as_numpy
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch, advice, expect, shown
from sfumato.labels import column_labels, table_in_order
from sfumato.numbers import Array, array, divide, floats, fractions, is_exact
from sfumato.spaces.finite import label_place, label_tuple

__all__ = ["Channel", "as_channel", "check_secrets", "normalise"]


@dataclass(frozen=True, eq=False, init=False)
class Channel(Tabular):
    """A stochastic matrix C with labels: C_xy is the probability of output y for secret x.

    Parameters
    ----------
    secrets
        A space, or the labels of the rows.
    matrix
        One row a secret, one column an output; exact unless a float is among the entries. A table with an index and
        names of columns, or a mapping of rows, is matched by label (:mod:`sfumato.labels`).
    outputs
        Labels of the columns; if not given those of the table, or 0, 1, ….

    Raises
    ------
    InvalidChannel
        For a negative entry or a row that does not sum to 1 (exactly for rationals, up to
        the rounding of the sum for floats); ``row`` and ``total`` say which and what.

    Examples
    --------
    >>> channel = Channel(["x", "z"], [["2/3", "1/3"], ["1/3", "2/3"]], outputs=["yes", "no"])
    >>> channel.exact, channel.shape
    (True, (2, 2))
    >>> channel["x", "yes"], channel["z"]  # one probability; the outputs of one secret
    (Fraction(2, 3), Prior('yes': 1/3, 'no': 2/3))
    """

    secrets: tuple[Any, ...]
    matrix: Array
    outputs: tuple[Any, ...]

    def __init__(self, secrets: Any, matrix: Any, outputs: Any = None) -> None:
        secrets = secrets_of(secrets)
        named = column_labels(matrix) if outputs is None else outputs
        if named is not None:
            outputs = label_tuple(named, "the outputs")
        matrix = table_in_order(matrix, secrets, outputs, "a channel")
        matrix = array(matrix, "the matrix of a channel", 2, error=InvalidChannel)
        rows, columns = matrix.shape
        if rows != len(secrets):
            raise InvalidChannel(f"{rows} rows for {len(secrets)} secrets")
        outputs = tuple(range(columns)) if outputs is None else outputs
        if len(outputs) != columns:
            raise InvalidChannel(f"{columns} columns for {len(outputs)} outputs")
        _check_stochastic(secrets, outputs, matrix)
        vars(self).update(secrets=secrets, matrix=matrix, outputs=outputs)

    @classmethod
    def identity(cls, space: Any) -> Channel:
        """The channel that tells everything."""
        secrets = secrets_of(space)
        return cls(secrets, np.eye(len(secrets), dtype=np.int64), secrets)

    @classmethod
    def constant(cls, space: Any, output: Any = 0) -> Channel:
        """The channel that tells nothing: one output, whatever the secret."""
        secrets = secrets_of(space)
        return cls(secrets, np.ones((len(secrets), 1), dtype=np.int64), (output,))

    @classmethod
    def deterministic(cls, space: Any, function: Callable[[Any], Any]) -> Channel:
        """The channel that discloses f(x)."""
        secrets = secrets_of(space)
        images = [answer_of(function, "the function of a channel", secret) for secret in secrets]
        try:
            outputs = label_tuple(list(dict.fromkeys(images)), "the outputs")
        except TypeError as error:
            raise InvalidChannel(f"outputs are labels, which must be hashable: {error}") from error
        matrix = np.array([[int(image == y) for y in outputs] for image in images])
        return cls(secrets, matrix, outputs)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float64"
        return f"Channel({len(self.secrets)} secrets → {len(self.outputs)} outputs, {kind})"

    @property
    def _axes(self) -> tuple[tuple[str, tuple[Any, ...]], tuple[str, tuple[Any, ...]]]:
        return ("secret", self.secrets), ("output", self.outputs)

    def __getitem__(self, key: Any) -> Any:
        """``channel[secret, output]`` is one probability, ``channel[secret]`` the distribution of outputs."""
        x, y = self._place(key)
        return Prior(self.outputs, self.matrix[x]) if y is None else self.matrix[x, y]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_numpy(self.matrix, dtype, copy)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of secrets and of outputs."""
        return len(self.secrets), len(self.outputs)

    @property
    def exact(self) -> bool:
        """Whether the entries are rationals."""
        return is_exact(self.matrix)

    def row(self, secret: Any) -> Array:
        """The output distribution of one secret."""
        return np.asarray(self.matrix[label_place(secret, self.secrets, "the secret of a row")])

    def to_floats(self) -> Channel:
        """The same channel in float64, rows renormalised."""
        return self if not self.exact else Channel(self.secrets, normalise(floats(self.matrix)), self.outputs)

    def to_rationals(self) -> Channel:
        """The channel of rationals that float entries stand for, rows divided by their exact totals."""
        if self.exact:
            return self
        matrix = fractions(self.matrix)
        return Channel(self.secrets, matrix / matrix.sum(axis=1)[:, None], self.outputs)


def as_channel(value: Any) -> Channel:
    """The channel, or that of a mechanism; an error for anything else."""
    channel = getattr(value, "channel", value)
    return expect(channel, Channel, "a channel", "Channel(space, matrix) makes one")


def normalise(matrix: Any) -> Array:
    """Non-negative numbers with positive finite row sums, each row divided by its sum."""
    table = array(matrix, "the matrix to normalise", 2, error=InvalidChannel)
    totals = table.sum(axis=1)
    bad = [i for i, total in enumerate(totals) if not 0 < total < np.inf]
    if bad or (table < 0).any():
        row = bad[0] if bad else int(np.argwhere(table < 0)[0, 0])
        raise InvalidChannel(f"row {row} has no positive finite sum or a negative entry", row, totals[row])
    return divide(table, totals[:, None])


def check_secrets(what: str, *owners: Any) -> tuple[Any, ...]:
    """The common secrets of several values; an error that names the labels if they differ."""
    if not owners:
        raise InvalidInput(f"{what}: nothing has secrets")
    for owner in owners:
        if not hasattr(owner, "secrets") and not hasattr(owner, "labels"):
            raise InvalidInput(f"{what}: found a value of type {type(owner).__name__}, which has no secrets")
    expected = secrets_of(owners[0])
    for owner in owners[1:]:
        labels = secrets_of(owner)
        if labels != expected:
            raise Mismatch(f"secrets of {what}", expected, labels)
    return expected


def _check_stochastic(secrets: tuple[Any, ...], outputs: Iterable[Any], matrix: Array) -> None:
    if (matrix < 0).any():
        x, y = np.argwhere(matrix < 0)[0]
        raise InvalidChannel(
            f"the probability of output {shown(tuple(outputs)[y])} for {shown(secrets[x])} is negative: {matrix[x, y]}",
            secrets[x],
        )
    totals = matrix.sum(axis=1)
    # m doubles, each rounded once, sum to 1 within m units in the last place
    slack = 0 if is_exact(matrix) else (matrix.shape[1] + 8) * 2.0**-52
    bad = np.flatnonzero(~(np.abs(totals - 1) <= slack))
    if bad.size:
        x = int(bad[0])
        raise InvalidChannel(
            f"the row of {shown(secrets[x])} sums to {totals[x]}, not to 1"
            + advice(("channels.normalise", "divides rows by their sums"), ("repair", "also makes them private")),
            secrets[x],
            totals[x],
        )
