"""What a proved mechanism is to those who use one: where its secrets lie, how it is drawn, what it costs.

Sampler, ledger, releases and the bridges to other libraries ask these questions and no others, so that whatever answers
them is drawn, charged and released alike: tables (:class:`~sfumato.certify.mechanism.Mechanism`), products, grids of
millions of cells, noise on all integers, pixels of the truncated Laplace mechanism, mechanisms for coordinates
(:class:`~sfumato.certify.coordinates.BoxMechanism`). Nothing here is a table: labels may be a rule, or absent where an
index, or a point, is the secret itself.

What cannot be drawn, or costs nothing that could be added up, says so with one of our errors when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.charge import Charge
from sfumato.certify.label_json import label_to_json
from sfumato.draws.plans import Plan, Tuples
from sfumato.errors import InvalidInput, NotSupported
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace

if TYPE_CHECKING:
    from sfumato.certify.mechanism import Mechanism


About = Literal["secrets", "coordinates"]
"""What a promise is about: secrets that are counted, or all points of a box."""

DrawnAs = Literal["table", "noise"]
"""What outputs are drawn by: rows of a table, or noise that is the same everywhere."""


@dataclass(frozen=True, eq=False)
class Domain:
    """Where the secrets of a mechanism lie: a finite space, a full grid known by its sides, a box, or none of these."""

    name: str
    unit: str = ""
    where: FiniteSpace | Box | None = None
    """The secrets: a list of them, or the box of whose points each is one."""
    grid: Box | None = None
    """What has a cell for each point of a grid that is no space with a table of distances."""
    integers: bool = False
    """Whether the secrets are all integers, at the distance of their difference."""

    @classmethod
    def of(cls, where: FiniteSpace | Box) -> Domain:
        """A finite space, or all points of a box."""
        return cls(where.name, where.unit, where)

    @property
    def about(self) -> About:
        """What a promise on it is about."""
        return "secrets" if self.where is None else self.where.about

    @property
    def space(self) -> FiniteSpace | None:
        """The list of secrets, if there is one."""
        return self.where if isinstance(self.where, FiniteSpace) else None

    @property
    def box(self) -> Box | None:
        """The box whose points are the secrets, all of them."""
        return self.where if isinstance(self.where, Box) else None

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """Those of a finite space, if it has any."""
        return None if self.space is None else self.space.coordinates

    @property
    def dimension(self) -> int:
        """How many coordinates a secret has, 0 if none."""
        cells = self.grid or self.box
        if cells:
            return cells.dimension
        return 0 if self.coordinates is None else self.coordinates.shape[1]


@runtime_checkable
class Charged(Protocol):
    """What has a price."""

    def as_charge(self) -> Charge:
        """What is promised, as a ledger adds it up; an error if it is nothing that adds up."""
        ...


@runtime_checkable
class ProvedMechanism(Charged, Protocol):
    """What can be drawn from, charged for and released."""

    @property
    def about(self) -> About:
        """Whether the promise is about secrets that are counted, or about all points of a box."""
        ...

    @property
    def drawn_as(self) -> DrawnAs:
        """Whether rows are drawn from, or noise is added: one distribution of offsets for all secrets."""
        ...

    @property
    def domain(self) -> Domain:
        """Where the secrets lie."""
        ...

    @property
    def secrets(self) -> Sequence[Any] | None:
        """Their labels by index, listed or as a rule; None where all integers are secrets, or all points of a box."""
        ...

    @property
    def outputs(self) -> Sequence[Any] | None:
        """The same for outputs, which are listed on a box."""
        ...

    def as_plan(self) -> Plan:
        """What draws outputs, exactly; an error that says what is missing if nothing can."""
        ...

    def as_table(self) -> Mechanism:
        """The whole as one proved table; an error that says what to do instead if it is too large, or infinite."""
        ...


class NoMechanism(NotSupported, InvalidInput):
    """The one error for a value that is no proved mechanism, whoever was given it."""

    def __init__(self, value: Any) -> None:
        super().__init__(
            f"draws from a value of type {type(value).__name__}, which must be a Mechanism or another proved one",
            ["proved mechanisms: a Design or a Repair has one as .mechanism, prove() makes one of a channel"],
        )


def drawn(value: Any) -> ProvedMechanism:
    """The value, if outputs can be drawn from it.

    Raises
    ------
    NoMechanism
        If it is no proved mechanism.
    """
    if not callable(getattr(value, "as_plan", None)):
        raise NoMechanism(value)
    mechanism: ProvedMechanism = value
    return mechanism


def tabled(value: Any) -> Mechanism:
    """A mechanism as a table, for who looks at all of it: reports, and bounds over all rows.

    Raises
    ------
    NoMechanism
        If the value is no proved mechanism.
    NotSupported
        If it is one that fits no table; the error says what to do instead.
    """
    table: Mechanism = drawn(value).as_table()
    return table


def no_table(mechanism: object, instead: str) -> NotSupported:
    """The one error for a mechanism that fits no table."""
    return NotSupported(f"{mechanism!r} as a table", [instead])


def charge_of(value: Any) -> Charge:
    """What a mechanism, a sampler or a :class:`Charge` that somebody wrote down is charged for.

    Raises
    ------
    NoMechanism
        If it is no proved mechanism.
    InvalidInput
        If what it promises is no single promise about distances or events.

    Examples
    --------
    >>> import sfumato as sf
    >>> charge = charge_of(sf.geometric(sf.PrivacyType(sf.line(3, unit="km"), alpha="1/2")))
    >>> charge.space, charge.unit, charge.text, charge.delta
    ('line(3)', 'km', 'alpha 1/2', None)
    >>> space, under = sf.discrete(3), sf.predicates.epsilon_delta(epsilon=1, delta="1/10")
    >>> best = sf.design(sf.Prior.uniform(space), sf.losses.bin(space), None, under=under)
    >>> charge = charge_of(best.mechanism)
    >>> charge.space, charge.text, charge.delta
    ('3 secrets, 6 ordered pairs of neighbours', 'epsilon 1', Fraction(1, 10))
    """
    if isinstance(value, Charge):
        return value
    if not isinstance(value, Charged):
        raise NoMechanism(value)
    return value.as_charge()


def draw_digest(secrets: Sequence[Any] | None, outputs: Sequence[Any] | None, plan: Plan) -> bytes:
    """What names the distribution that is drawn: labels and weights, not claims, nor how they came about."""
    state = blake2b(dumps([_written(secrets), _written(outputs)]).encode(), digest_size=32, person=b"sfumato sampler")
    state.update(plan.identity())
    return state.digest()


def _written(labels: Sequence[Any] | None) -> Any:
    """Labels for the digest; those that are never listed are part of what the plan says of itself."""
    return None if labels is None or isinstance(labels, Tuples) else [label_to_json(label) for label in labels]
