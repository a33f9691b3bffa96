"""Priors: what is believed of the secret beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import flag
from sfumato.channels.tabular import as_numpy
from sfumato.errors import InvalidPrior, advice, expect, short, shown
from sfumato.labels import column_values, in_order, labelled, pandas_series
from sfumato.numbers import Array, array, divide, floats, is_exact, number
from sfumato.spaces.box import Box, as_box
from sfumato.spaces.finite import FiniteSpace, label_place, label_tuple
from sfumato.spaces.space import Space

if TYPE_CHECKING:  # an extra
    import pandas

__all__ = ["Prior", "as_prior", "secrets_of"]


def secrets_of(owner: Any) -> tuple[Any, ...]:
    """The labels of a space, of the cells of a box, of a prior, a channel or a loss, or a plain list of labels."""
    if isinstance(owner, Space):
        return owner.labels
    secrets = getattr(owner, "secrets", None)
    return secrets if isinstance(secrets, tuple) else label_tuple(owner, "the secrets")


def as_prior(value: Any) -> Prior:
    """The prior, or an error for anything else."""
    return expect(value, Prior, "a prior", "Prior(space, weights) makes one")


_MOST_SHOWN = 8  # A prior prints its weights if there are at most so many.


@dataclass(frozen=True, eq=False, init=False)
class Prior:
    """A probability distribution over secrets, π_x ≥ 0 with Σ_x π_x = 1.

    Parameters
    ----------
    secrets
        A space, or the labels of the secrets.
    weights
        One probability for each secret; exact unless a float is among them. Exact weights
        must sum to 1, floats up to the rounding of their sum. A mapping, a series with an index or
        a table of labels and numbers is matched by label (:mod:`sfumato.labels`).

    Examples
    --------
    >>> Prior(["rain", "sun"], ["1/3", "2/3"]).weights.tolist()
    [Fraction(1, 3), Fraction(2, 3)]
    >>> Prior(["rain", "sun"], ["1/3", "2/3"])["sun"]
    Fraction(2, 3)
    """

    secrets: tuple[Any, ...]
    weights: Array

    def __init__(self, secrets: Any, weights: Any) -> None:
        secrets = secrets_of(secrets)
        weights = in_order(weights, secrets, "the weights of a prior")
        weights = array(weights, "the weights of a prior", 1, error=InvalidPrior)
        if len(weights) != len(secrets):
            raise InvalidPrior(f"{len(weights)} weights for {len(secrets)} secrets")
        if (weights < 0).any():
            x = int(np.flatnonzero(weights < 0)[0])
            raise InvalidPrior(f"the weight of {shown(secrets[x])} is negative: {weights[x]}")
        total = weights.sum()
        # n doubles, each rounded once, sum to 1 within n units in the last place
        slack = 0 if is_exact(weights) else (len(weights) + 8) * 2.0**-52
        if not abs(total - 1) <= slack:
            raise InvalidPrior(
                f"the weights of a prior sum to {total}, not to 1"
                + advice(("Prior.from_counts", "divides by the total"))
            )
        vars(self).update(secrets=secrets, weights=weights)

    @classmethod
    def uniform(cls, space: Any) -> Prior:
        """All secrets equally likely, exactly 1/n each."""
        secrets = secrets_of(space)
        return cls(secrets, [Fraction(1, len(secrets))] * len(secrets))

    @classmethod
    def point(cls, space: Any, secret: Any) -> Prior:
        """All weight on one secret."""
        secrets = secrets_of(space)
        place = label_place(secret, secrets, "the secret of a point prior")
        return cls(secrets, [int(i == place) for i in range(len(secrets))])

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Any] | Iterable[Any], space: Any = None) -> Prior:
        """From how often each secret was seen: by label, or a list in the order of ``space``.

        What carries labels (a mapping, ``series.value_counts()``, a table of labels and counts) is matched by label,
        see :mod:`sfumato.labels`. Secrets of ``space`` that do not occur in it have count 0, as ``value_counts`` leaves
        them out; a label that is no secret is refused.

        Examples
        --------
        >>> Prior.from_counts({"north": 3, "south": 1}).weights.tolist()
        [Fraction(3, 4), Fraction(1, 4)]
        >>> Prior.from_counts({"south": 1, "north": 3}, ["north", "east", "south"]).weights.tolist()
        [Fraction(3, 4), Fraction(0, 1), Fraction(1, 4)]
        """
        if isinstance(counts, FiniteSpace):
            raise InvalidPrior("from_counts takes the counts first and the space second")
        given = labelled(counts)
        if given is None:
            values = column_values(counts)
            secrets = tuple(range(len(values))) if space is None else secrets_of(space)
            if len(secrets) != len(values):
                raise InvalidPrior(f"{len(values)} counts for {len(secrets)} secrets")
        else:
            secrets = label_tuple(given.labels, "counted secrets") if space is None else secrets_of(space)
            values = in_order(counts, secrets, "counted secrets", absent=0)
        values = [number(value, f"the count of {secret!r}") for secret, value in zip(secrets, values, strict=True)]
        table = array(values, "counts", 1, error=InvalidPrior)
        if (table < 0).any():
            x = int(np.flatnonzero(table < 0)[0])
            raise InvalidPrior(f"the count of {shown(secrets[x])} is negative: {table[x]}")
        total = table.sum()
        if not 0 < total < np.inf:
            raise InvalidPrior(f"counts must have a positive finite total, found {short(total)}")
        return cls(secrets, divide(table, total))

    @classmethod
    def on_cells(cls, counts: Any, box: Box) -> Prior:
        """A density on a box that is constant on its cells, from a count for each.

        Parameters
        ----------
        counts
            An array with one axis for each axis of the box, a list in the order of ``box.labels``, or a mapping from
            cells to counts, where cells that do not occur have none.

        Examples
        --------
        >>> from sfumato.spaces.box import box
        >>> Prior.on_cells([[1, 2], [0, 1]], box((2, 2), step=1))
        Prior((0, 0): 1/4, (0, 1): 1/2, (1, 0): 0, (1, 1): 1/4)
        """
        box = as_box(box)
        if labelled(counts) is None:
            try:
                table = np.asarray(counts)
            except (TypeError, ValueError, RecursionError, MemoryError) as error:
                raise InvalidPrior(f"counts on cells are a table of numbers, found {shown(counts)}") from error
            if table.ndim > 1 and table.shape != box.shape:
                raise InvalidPrior(f"counts of shape {table.shape} for a box with {box.shape} cells along its axes")
            counts = column_values(table.ravel())
        return cls.from_counts(counts, box)

    __iter__ = None  # by ``__getitem__`` alone Python would go through 0, 1, …, which may be secrets or not

    def __len__(self) -> int:
        return len(self.secrets)

    def __getitem__(self, secret: Any) -> Any:
        """The probability of one secret."""
        return self.weights[label_place(secret, self.secrets, "the secret of a prior")]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_numpy(self.weights, dtype, copy)

    def to_pandas(self, *, exact: bool = False) -> pandas.Series[Any]:
        """The probabilities as a pandas Series with the secrets as index; of fractions where ``exact``.

        ``Prior(space, prior.to_pandas(exact=True))`` is the same prior. Needs pandas (extra ``pandas``).
        """
        kind = object if flag(exact, "exact") else None
        return pandas_series(np.asarray(self, dtype=kind), ("secret", self.secrets), "probability")

    def __repr__(self) -> str:
        if len(self) <= _MOST_SHOWN:
            shown = (
                f"{s!r}: {w if self.exact else f'{w:.6g}'}" for s, w in zip(self.secrets, self.weights, strict=True)
            )
            return f"Prior({', '.join(shown)})"
        return f"Prior({len(self)} secrets, {'exact' if self.exact else 'float64'})"

    @property
    def exact(self) -> bool:
        """Whether the weights are rationals."""
        return is_exact(self.weights)

    @property
    def support(self) -> tuple[Any, ...]:
        """The secrets of positive probability."""
        return tuple(s for s, w in zip(self.secrets, self.weights, strict=True) if w > 0)

    @cached_property
    def float_weights(self) -> NDArray[np.float64]:
        """The weights in float64, kept: a measure asked for often should not convert them each time."""
        return floats(self.weights)

    def to_floats(self) -> Prior:
        """The same prior in float64, renormalised."""
        return Prior(self.secrets, self.float_weights / self.float_weights.sum())
