"""Coarser outputs and coarser secrets: T-pixelation and N-step mechanisms.

Pixelation cuts the outputs [a, b] into T equally long pixels and tells only the pixel, named by its left end;
the last pixel is closed. (Equation 12 of paper B lets y range over the T + 1 points of U_T; there are T pixels.)
A pixelated mechanism is a post-processing, so it keeps the promise.

The N-step version of a mechanism uses for x the row of ⌊x⌋_N, the next lattice point to the left, and for x = b
that of b − (b−a)/N (B, Definition 7). It keeps the promise on the lattice only: at a lattice point its row jumps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from sfumato.arguments import index_array
from sfumato.certify.charge import Charge
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import Domain, draw_digest
from sfumato.channels.channel import Channel, as_channel, normalise
from sfumato.draws.noise import Rate, noise
from sfumato.draws.plans import Pixels, Plan
from sfumato.errors import InvalidInput, Mismatch, NotSupported, expect
from sfumato.mechanisms.continuous.interval import UNIT, cell_indices, floor_of, lattice, lattice_floats
from sfumato.mechanisms.continuous.laplace import (
    PIXELS_MISSING,
    Laplace,
    TruncatedLaplace,
    common_steps,
    decay_powers,
)
from sfumato.mechanisms.proved import proved
from sfumato.numbers import Floats, floats, is_exact, whole_number
from sfumato.spaces.box import Box

STEPS_MISSING = "secrets are points of a lattice: say how many steps, sampler(mechanism, steps=…)"
"""Why a pixelated mechanism alone cannot be drawn from."""


@runtime_checkable
class IntervalMechanism(Protocol):
    """What quadrature needs of a mechanism with secrets in an interval.

    Outputs are of two kinds: ``outputs`` lists those that have a probability, given by ``mass``; a
    mechanism with ``density`` also has a density on the interval. ``jumps`` are secrets where rows are
    not smooth.
    """

    @property
    def interval(self) -> Box:
        """Where the secrets live."""
        ...

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The outputs that have a probability."""
        ...

    @property
    def jumps(self) -> Floats:
        """Secrets where a row is not smooth."""
        ...

    def mass(self, x: Any, index: Any) -> Floats:
        """The probability of output number ``index`` for the secret x."""
        ...


@dataclass(frozen=True, eq=False)
class Pixelated:
    """ᵀL: the truncated Laplace mechanism that tells only the pixel of its output (B, Equation 12)."""

    source: TruncatedLaplace
    pixels: int

    @property
    def interval(self) -> Box:
        """Where the secrets live."""
        return self.source.interval

    @property
    def outputs(self) -> tuple[Fraction, ...]:
        """The left ends of the pixels."""
        return lattice(self.pixels, self.interval)[:-1]

    @cached_property
    def jumps(self) -> Floats:
        """The inner edges of pixels, where a mass as a function of the secret changes its formula."""
        return lattice_floats(self.pixels, self.interval)[1:-1]

    def mass(self, x: Any, index: Any) -> Floats:
        """The probability of pixel number ``index``; the first and the last have the ends and the tails."""
        edges = np.concatenate([[-np.inf], self.jumps, [np.inf]])
        index = index_array(index, self.pixels, "the number of a pixel")
        return self.source.mass_between(x, edges[index], edges[index + 1])

    def as_plan(self) -> Plan:
        """Refused: secrets are points of a lattice, whose steps are not known here."""
        raise InvalidInput(STEPS_MISSING)

    def as_charge(self) -> Charge:
        """That of the mechanism whose outputs are cut into pixels."""
        return self.source.as_charge()


@dataclass(frozen=True, eq=False, repr=False)
class PixelsOnLattice:
    """A pixelated mechanism for the secrets of the lattice U_N, drawn without a table; made by :func:`pixels_on`."""

    about: ClassVar[Literal["secrets"]] = "secrets"
    drawn_as: ClassVar[Literal["table"]] = "table"

    pixelated: Pixelated
    steps: int

    def __repr__(self) -> str:
        return f"PixelsOnLattice({self.domain.name}, {self.pixelated.pixels} pixels)"

    @property
    def domain(self) -> Domain:
        """The points of the lattice."""
        return Domain(f"{self.steps + 1} points of {self.pixelated.interval}")

    @property
    def secrets(self) -> tuple[Fraction, ...]:
        """The points of the lattice."""
        return lattice(self.steps, self.pixelated.interval)

    @property
    def outputs(self) -> tuple[Fraction, ...]:
        """The left ends of the pixels."""
        return self.pixelated.outputs

    def as_plan(self) -> Pixels:
        """Laplace noise in cells of a common lattice."""
        mechanism = self.pixelated
        cell = mechanism.interval.length / lcm(self.steps, mechanism.pixels)
        rate = Rate(mechanism.source.privacy.epsilon, mechanism.source.privacy.alpha, cell)
        return Pixels(noise(rate, fair=True), self.steps, mechanism.pixels, str(mechanism.interval))

    def as_charge(self) -> Charge:
        """That of the mechanism, with the noise that these pixels and steps make of it."""
        digest = draw_digest(self.secrets, self.outputs, self.as_plan())
        return replace(self.pixelated.as_charge(), noise=digest.hex())

    def as_table(self) -> Mechanism:
        """The same as a table, put before the proof kernel."""
        return pixelated_mechanism(self.pixelated, self.steps)


@dataclass(frozen=True, eq=False)
class Stepped:
    """K_N: the N-step version of a mechanism on an interval (B, Definition 7)."""

    source: IntervalMechanism
    steps: int

    @property
    def interval(self) -> Box:
        """Where the secrets live."""
        return self.source.interval

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Those of the source."""
        return self.source.outputs

    @cached_property
    def jumps(self) -> Floats:
        """The lattice points where the row changes."""
        return lattice_floats(self.steps, self.interval)[1:-1]

    def mass(self, x: Any, index: Any) -> Floats:
        """The probability of an output for the lattice point at or left of x."""
        return self.source.mass(floor_of(x, self.steps, self.interval), index)


@dataclass(frozen=True, eq=False)
class _SteppedDensity(Stepped):
    """A stepped mechanism whose outputs have a density."""

    def density(self, x: Any, y: Any) -> Floats:
        """The density of output y for the lattice point at or left of x."""
        point = floor_of(x, self.steps, self.interval)
        return np.asarray(self.source.density(point, y))  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class SteppedChannel:
    """M_N: a channel on the lattice U_N, lifted to all of the interval (B, Definition 7)."""

    channel: Channel
    interval: Box

    @property
    def steps(self) -> int:
        """N, one less than the number of secrets."""
        return len(self.channel.secrets) - 1

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Those of the channel."""
        return self.channel.outputs

    @cached_property
    def jumps(self) -> Floats:
        """The lattice points where the row changes."""
        return lattice_floats(self.steps, self.interval)[1:-1]

    @cached_property
    def matrix(self) -> Floats:
        """The rows in floats."""
        return floats(self.channel.matrix)

    def mass(self, x: Any, index: Any) -> Floats:
        """The probability of an output in the row of the lattice point at or left of x."""
        return np.asarray(
            self.matrix[cell_indices(x, self.steps, self.interval), index_array(index, len(self.outputs), "an output")]
        )


def pixelate(mechanism: TruncatedLaplace, pixels: int) -> Pixelated:
    """T-pixelation: outputs cut into T pixels.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> coarse = pixelate(truncated_laplace(alpha="1/16"), 2)
    >>> coarse.outputs, coarse.mass(0.5, [0, 1]).tolist()
    ((Fraction(0, 1), Fraction(1, 2)), [0.5, 0.5])
    """
    source = expect(mechanism, TruncatedLaplace, "what is pixelated", "truncated_laplace(epsilon) makes one")
    return Pixelated(source, whole_number(pixels, "pixels"))


def pixels_on(mechanism: Any, *, steps: int | None, pixels: int | None = None) -> PixelsOnLattice:
    """The truncated Laplace mechanism, with or without pixels, for the secrets of the lattice U_N.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> pixels_on(truncated_laplace(1), steps=5, pixels=10)
    PixelsOnLattice(6 points of [0, 1], 10 pixels)
    """
    if isinstance(mechanism, TruncatedLaplace):
        if pixels is None:
            raise InvalidInput(PIXELS_MISSING)
        mechanism, pixels = pixelate(mechanism, pixels), None
    if pixels is not None or not isinstance(mechanism, Pixelated):
        raise InvalidInput("steps and pixels are for the truncated Laplace mechanism; others know their secrets")
    if steps is None:
        raise InvalidInput(STEPS_MISSING)
    return PixelsOnLattice(mechanism, whole_number(steps, "steps"))


def stepped(
    mechanism: IntervalMechanism | Channel | Mechanism, steps: int | None = None, interval: Box = UNIT
) -> Stepped | SteppedChannel:
    """The N-step mechanism of a mechanism on an interval, or of a channel on the lattice U_N.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import lattice_geometric, truncated_laplace
    >>> source = truncated_laplace(alpha="1/16")
    >>> stepped(source, 2).mass([0.4, 0.6], 0).tolist()          # the rows of 0 and of 1/2
    [0.5, 0.125]
    >>> stepped(lattice_geometric(source, 2)).mass([0.4, 0.6], 0).tolist()
    [0.8, 0.2]
    """
    if isinstance(mechanism, Channel | Mechanism):
        channel = as_channel(mechanism)
        points = lattice(len(channel.secrets) - 1, interval)
        if channel.secrets != points:
            raise Mismatch("the secrets of a channel to be lifted", points, channel.secrets)
        return SteppedChannel(channel, interval)
    source = as_interval_mechanism(mechanism)
    if steps is None:
        raise InvalidInput("steps is missing: how many cells should the secrets be cut into?")
    kind = _SteppedDensity if hasattr(source, "density") else Stepped
    return kind(source, whole_number(steps, "steps"))


def on_lattice(mechanism: Pixelated, steps: int) -> Channel:
    """A pixelated mechanism for secrets of the lattice U_N only: a channel with N + 1 rows and T columns.

    With lcm = lcm(N, T), the masses are rational when e^{−ε(b−a)/lcm} is; the channel is then exact.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> channel = on_lattice(pixelate(truncated_laplace(alpha="1/16"), 4), 2)
    >>> channel.row(Fraction(1, 2)).tolist()
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]
    """
    pixelated = expect(mechanism, Pixelated, "a mechanism to restrict", "pixelate(mechanism, pixels) makes one")
    steps = whole_number(steps, "steps")
    secrets = lattice(steps, pixelated.interval)
    if is_exact(decay_powers(pixelated.source, common_steps(steps, pixelated.pixels))):
        matrix = np.diff(pixelated.source.edge_sums(steps, pixelated.pixels), axis=1)
        return Channel(secrets, matrix, pixelated.outputs)
    where = lattice_floats(steps, pixelated.interval)[:, None]
    return Channel(secrets, normalise(pixelated.mass(where, np.arange(pixelated.pixels))), pixelated.outputs)


def pixelated_mechanism(mechanism: Pixelated, steps: int) -> Mechanism:
    """A pixelated mechanism on a lattice, put before the proof kernel.

    Rational masses are proved as they are. Irrational ones are repaired first, rounded to integer weights that
    keep the promise exactly, which moves probabilities by no more than rounding does.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> pixelated_mechanism(pixelate(truncated_laplace(1), 4), 4)
    Mechanism(5 secrets → 4 outputs, PrivacyType(5 points of [0, 1], epsilon=1), proved)
    """
    channel = on_lattice(mechanism, steps)
    privacy = mechanism.source.promise_on(steps)
    return proved("truncated_laplace", privacy, channel.matrix, channel.outputs, pixels=mechanism.pixels)


def as_interval_mechanism(value: Any) -> IntervalMechanism:
    """The mechanism; an untruncated Laplace mechanism becomes the truncated one.

    All outputs below the interval have the same posterior, that of its lower end, so truncation changes neither
    the hyper nor any loss.
    """
    if isinstance(value, Laplace) and not isinstance(value, TruncatedLaplace):
        return TruncatedLaplace(value.interval, value.privacy)
    if isinstance(value, IntervalMechanism):
        return value
    raise NotSupported(
        f"a mechanism of type {type(value).__name__} on an interval",
        ["laplace", "truncated_laplace", "pixelate", "stepped", "anything with interval, outputs, jumps and mass"],
    )
