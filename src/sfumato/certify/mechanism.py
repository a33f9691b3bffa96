"""A mechanism: integer weights, the promise they keep, and the proof that they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.charge import Charge, table_charge
from sfumato.certify.protocol import Domain
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.channels.tabular import Tabular, as_numpy
from sfumato.draws.alias import alias_tables
from sfumato.draws.plans import TablePlan
from sfumato.losses.loss import Loss
from sfumato.measures.shares import Workload
from sfumato.numbers import Array, object_array
from sfumato.privacy.events import EventPromise
from sfumato.privacy.type import PrivacyType
from sfumato.rooms import at_front_door

Criterion = Literal["expected", "worst secret", "worst prior"]
"""Whose loss counts."""

_LARGEST_EXACT = 2**18  # Entries of the largest channel of fractions, half a second to build.


def compact(weights: Array) -> Array:
    """int64 where the numbers fit, Python integers beyond; read-only either way."""
    largest = max(int(weights.max()), 1)
    result = np.array(weights, dtype=np.int64 if largest < 2**62 else object)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, eq=False)
class Dual:
    """Numbers Z ≥ 0 that prove a lower bound: ``values[k] · unit`` on the constraint
    M(first[k])(action[k]) ≤ e^{εd} M(second[k])(action[k]). Indices count secrets and actions.

    ``event_values[k] · unit`` stand on output ``event_action[k]`` of the pair ``event_pair[k]``, counted through all
    promises about events.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    action: NDArray[np.int64]
    values: Array
    unit: Fraction = Fraction(1)
    event_pair: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    event_action: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    event_values: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Ceiling:
    """Σ_y M(x)(y) t(w_y, x) ≤ level for every secret x, where w_y is the action for output y and t is a loss.

    ``prices`` are numbers U ≥ 0, one for each secret, in units of the dual: a bound may use that the ceiling is kept.
    """

    loss: Loss
    level: Fraction
    prices: Array | None = None


@dataclass(frozen=True, eq=False)
class Claim:
    """What a mechanism is claimed to achieve: its loss and, by ``dual``, a bound that no mechanism goes below.

    Parameters
    ----------
    prior
        The prior of the expected loss. Where the worst secret or the worst of several priors counts: the prior under
        which the bound is proved, the hardest one that was found.
    remap
        The action for each output, as an index into the actions of the loss.
    criterion
        ``"expected"``, ``"worst secret"`` or ``"worst prior"``.
    priors, mixture
        For the worst of several priors: these, and the shares in which they make up ``prior``.
    ceilings
        What every secret is promised beside; the bound holds among mechanisms that keep them.
    """

    kind: ClassVar[Literal["loss"]] = "loss"
    reference: ClassVar[None] = None
    """No distribution is one at which estimates are to be good."""

    prior: Prior
    loss: Loss
    remap: tuple[int, ...]
    value: Fraction
    bound: Fraction | None = None
    dual: Dual | None = None
    criterion: Criterion = "expected"
    priors: tuple[Prior, ...] = ()
    mixture: tuple[int, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()


@dataclass(frozen=True, eq=False)
class SharesClaim:
    """What is claimed of estimates of shares: N times the total variance of unbiased ones is at most ``value`` at the
    distribution ``prior``, and no mechanism of the promise has less than ``bound`` there.

    Parameters
    ----------
    prior
        The distribution that was guessed; where the worst of several counts, the one under which the bound is proved.
    workload
        What is estimated.
    dual, prices
        B and m with |B r|² ≤ (m·r)(p·r) for every column r that keeps the promise: floats, each of which is a number.
    priors, mixture
        For the worst distribution in the hull of several: these, and the shares in which they make up ``prior``.
    """

    kind: ClassVar[Literal["shares"]] = "shares"

    prior: Prior
    workload: Workload
    value: Fraction
    bound: Fraction | None = None
    dual: NDArray[np.float64] | None = None
    prices: NDArray[np.float64] | None = None
    priors: tuple[Prior, ...] = ()
    mixture: tuple[int, ...] = ()

    @property
    def reference(self) -> Prior:
        """The distribution at which estimates are to be good."""
        return self.prior


@dataclass(frozen=True)
class Proof:
    """What a checker has verified: by whom, how many pairs and comparisons, which claims, and ``events`` of how many
    ordered pairs. ``open`` is the number of pairs of secrets that no chain of finite distances joins, so that no ratio
    is bounded between them, ``loose`` that of checked pairs that allow a factor of the whole total, which rules out
    zeros alone, ``span`` the least and the largest distance that is listed. Where the promise is about all points of a
    box there are no pairs but ``cells``.
    """

    checker: str
    pairs: int
    implied: int
    comparisons: int
    digest: str
    loss: Fraction | None = None
    bound: Fraction | None = None
    events: int = 0
    open: int = 0
    cells: int = 0
    loose: int = 0
    span: tuple[Fraction, Fraction] | None = None

    def __str__(self) -> str:
        if self.cells:
            return (
                f"all points of {self.cells} cells and {self.comparisons} comparisons in integers by the "
                f"{self.checker}, sha256 {self.digest[:16]}…"
            )
        about_events = f"all events of {self.events} ordered pairs, " if self.events else ""
        about_loose = f"{self.loose} of them with a factor that rules zeros out alone, " if self.loose else ""
        about_open = f"no ratio is bounded for {self.open} pairs, " if self.open else ""
        return (
            f"{about_events}{self.pairs} pairs and {self.comparisons} comparisons in integers by the {self.checker}, "
            f"{self.implied} pairs implied, {about_loose}{about_open}sha256 {self.digest[:16]}…"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Tabular):
    """A proved mechanism: M(x)(y) = weights[x, y] / total. It keeps ``privacy``, and the promises in ``events``.

    Made by :func:`sfumato.prove`, :func:`sfumato.repair`, :func:`sfumato.quantise` and
    :func:`sfumato.load`, which put every one of them before the kernel.
    """

    about: ClassVar[Literal["secrets"]] = "secrets"
    drawn_as: ClassVar[Literal["table"]] = "table"

    privacy: PrivacyType
    outputs: tuple[Any, ...]
    weights: Array
    total: int
    proof: Proof
    claim: Claim | SharesClaim | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    events: tuple[EventPromise, ...] = ()

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The labels of the secrets."""
        return self.privacy.space.labels

    @property
    def domain(self) -> Domain:
        """Where the secrets lie."""
        return Domain.of(self.privacy.space)

    def as_plan(self) -> TablePlan:
        """Alias tables of the weights."""
        return TablePlan(alias_tables(self.weights, self.total))

    def as_charge(self) -> Charge:
        """What a ledger adds up."""
        return table_charge(self)

    def as_table(self) -> Mechanism:
        """Itself."""
        return self

    def row_weights(self, secret: Any) -> Array:
        """The integer weights of one row; they sum to ``total``."""
        return np.asarray(self.weights[self.privacy.space.index(secret)])

    @property
    def loss_claim(self) -> Claim | None:
        """What is claimed about a loss, if that is what is claimed."""
        return self.claim if isinstance(self.claim, Claim) else None

    @property
    def bounds_ratios(self) -> bool:
        """Whether anything is promised about ratios of probabilities, beside events: some distance is finite."""
        space = self.privacy.space
        if space.edges is not None:
            return bool(space.edges.pairs.first.size)
        return bool(np.count_nonzero(~space.distances.infinite) > len(space))  # beside the diagonal; pairs take longer

    def __repr__(self) -> str:
        return f"Mechanism({len(self.secrets)} secrets → {len(self.outputs)} outputs, {self.privacy!r}, proved)"

    @property
    def _axes(self) -> tuple[tuple[str, tuple[Any, ...]], tuple[str, tuple[Any, ...]]]:
        return ("secret", self.secrets), ("output", self.outputs)

    def __getitem__(self, key: Any) -> Any:
        """``mechanism[secret, output]`` is one probability, ``mechanism[secret]`` the distribution of outputs."""
        x, y = self._place(key)
        if y is not None:
            return Fraction(int(self.weights[x, y]), self.total)
        return Prior(self.outputs, [Fraction(int(weight), self.total) for weight in self.weights[x]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if dtype is not None and np.dtype(dtype) == object:
            return self._fractions()
        return as_numpy(self.channel.matrix, dtype, copy)

    def _fractions(self) -> Array:
        return object_array((Fraction(int(w), self.total) for w in self.weights.ravel()), self.weights.shape)

    def release(self, table: Any, column: Any = None, **terms: Any) -> Any:
        """The table with drawn outputs for the secrets of a column: :func:`sfumato.release_table`."""
        return at_front_door("release_table")(self, table, column, **terms)

    @cached_property
    def channel(self) -> Channel:
        """The channel: exact fractions up to 2^18 entries, float64 beyond."""
        if self.weights.size <= _LARGEST_EXACT:
            return Channel(self.secrets, self._fractions(), self.outputs)
        matrix = self.weights.astype(np.float64)
        return Channel(self.secrets, matrix / matrix.sum(axis=1, keepdims=True), self.outputs)
