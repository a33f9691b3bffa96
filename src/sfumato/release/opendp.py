"""Proved mechanisms as OpenDP measurements: composed, chained and converted there.

OpenDP knows a measurement by its input domain, its input metric, its output measure and a privacy map. For a
mechanism that is ε·d-private the map is d_in ↦ ε·d_in in the measure of pure differential privacy (max-divergence),
rounded up to a double, never below the exact value. Integers in a row and discrete spaces have OpenDP's own metrics;
for any other metric there is a user distance, named by the SHA-256 of its table, so that measurements on different
spaces do not compose by accident.

What OpenDP calls *honest-but-curious* features must be switched on by whoever uses this: it cannot look into a Python
function. That the function keeps the map's promise is what the kernel has proved.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from math import inf, isfinite, isnan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer, one_of
from sfumato.certify.amounts import Amount
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import tabled
from sfumato.errors import InvalidInput, NotSupported, needs
from sfumato.numbers import exact, float_above, log_bounds
from sfumato.release.families import release_family
from sfumato.release.sampler import Sampler, sampler
from sfumato.spaces.box import Box
from sfumato.spaces.distances import Form
from sfumato.spaces.finite import FiniteSpace

_INT32 = range(-(2**31), 2**31)  # what OpenDP takes a Python int for


def opendp_measurement(mechanism: Any, *, metric: Literal["auto", "user"] = "auto") -> Any:
    """One secret in, one output out: an ``opendp.mod.Measurement`` with the exact sampler inside.

    Parameters
    ----------
    mechanism
        Whatever :func:`sfumato.sampler` draws from: a table, a product, a grid, noise on the integers, a mechanism for
        coordinates. The last takes a point, a tuple of floats or one float on an interval; points outside of the box
        are moved to it, and the distance of two inputs is that of the box, before they are moved.
    metric
        ``"auto"`` uses OpenDP's absolute distance for consecutive integers one unit apart, its discrete distance where
        all distances are 1, and a user distance for everything else; ``"user"`` always the last. Distances that go into
        a user distance may be ints, floats, fractions or texts such as ``"1/3"``.

    Raises
    ------
    MissingExtra
        If OpenDP is not installed.
    """
    dp = _opendp()
    one_of(metric, ("auto", "user"), "metric")
    draws = sampler(mechanism)
    charge, draw = draws.as_charge(), _drawing(draws)
    if charge.delta is not None:
        raise NotSupported(
            "a promise about events as a measurement of pure differential privacy",
            ["worst_privacy_loss(mechanism, neighbours) for dp-accounting", "opendp_rows(mechanism, size)"],
        )
    rate, measured = charge.rate, dp.user_distance(f"DistanceOn({charge.space}, sha256 {charge.metric})")
    if metric == "auto" and (draws.domain.integers or _consecutive_integers(draws.domain.space)):
        measured = dp.absolute_distance(T=int)
    elif metric == "auto" and _all_one_apart(draws.domain.space):
        measured = dp.discrete_distance()
    return dp.m.make_user_measurement(
        input_domain=_secrets_of(dp, draws, metric),
        input_metric=measured,
        output_measure=dp.max_divergence(),
        function=lambda secret: draw([secret])[0],
        privacy_map=lambda distance: exponent_above(rate, distance),
    )


def opendp_rows(mechanism: Mechanism | BoxMechanism, size: int) -> Any:
    """A list of so many secrets in, the list of their outputs out, each with noise of its own.

    The input metric is the Hamming distance, the number of rows that differ. Changing one row costs at most the
    logarithm of the largest ratio between any two rows of the mechanism, which is at most ε times the diameter of the
    space; the privacy map adds that up. For coordinates it is the largest ratio between rows of lattice points, of
    which every point has a mixture. In this form a mechanism is a local randomiser, and what OpenDP offers for datasets
    of known size applies, such as ``make_population_amplification``.
    """
    dp = _opendp()
    mechanism = mechanism if isinstance(mechanism, BoxMechanism) else tabled(mechanism)
    size = integer(size, "the number of rows", 1, 2**31 - 1)  # OpenDP counts in 32 bits
    draws = sampler(mechanism)
    draw, factor = _drawing(draws), local_factor(mechanism)

    def release(rows: Any) -> list[Any]:
        if len(rows) != size:
            raise InvalidInput(f"{len(rows)} rows for a measurement of {size}")
        return draw(list(rows))

    return dp.m.make_user_measurement(
        input_domain=dp.vector_domain(_secrets_of(dp, draws, "auto"), size=size),
        input_metric=dp.hamming_distance(),
        output_measure=dp.max_divergence(),
        function=release,
        privacy_map=lambda changed: _log_above(factor, changed),
    )


def local_factor(mechanism: Mechanism | BoxMechanism) -> Fraction | None:
    """max M(x)(y) / M(x′)(y) over all secrets and outputs, exactly; None where a zero faces a positive number.

    For coordinates that over lattice points, which no two points exceed.

    Examples
    --------
    >>> import sfumato as sf
    >>> local_factor(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")))
    Fraction(4, 1)
    """
    most, least = mechanism.weights.max(axis=0), mechanism.weights.min(axis=0)
    if ((least == 0) & (most > 0)).any():
        return None
    used = most > 0
    return max(Fraction(int(a), int(b)) for a, b in zip(most[used], least[used], strict=True))


def exponent_above(rate: Amount, distance: Any) -> float:
    """ε·d in floats, rounded up: never below the exact product.

    Examples
    --------
    >>> from sfumato.certify.amounts import amount
    >>> exponent_above(amount(epsilon="1/10"), 3), exponent_above(amount(alpha="1/2"), "1/2")
    (0.30000000000000004, 0.3465735902799727)
    """
    if isinstance(distance, float | np.floating):
        if isnan(distance):
            raise InvalidInput("the distance of two inputs is NaN")
        if distance == inf:
            return inf
    between = exact(distance)
    if between < 0:
        raise InvalidInput(f"the distance of two inputs is not negative, found {distance}")
    return float_above(rate.bounds(128)[1] * between)


def _log_above(factor: Fraction | None, times: int) -> float:
    """times · ln(factor), rounded up."""
    if times == 0:
        return 0.0
    return inf if factor is None else float_above(log_bounds(factor, 128)[1] * int(times))


def _opendp() -> Any:
    with needs("opendp", "opendp"):
        return import_module("opendp.prelude")


def _secrets_of(dp: Any, draws: Sampler, metric: str) -> Any:
    """The domain of the secrets, OpenDP's own for integers."""
    space, secrets, box = draws.domain.space, draws.secrets, draws.domain.box
    if box is not None:
        box.surface.needs_a_plane(
            f"places of {box.name} as inputs of OpenDP, which knows no great circles",
            ["release with Place('lat', 'lon')", "a plain box, sf.box(…), with coordinates of the map"],
        )
        return dp.user_domain(f"PointsWith({box.dimension} coordinates)", lambda point: _is_point(point, box))
    if secrets is None:
        return dp.atom_domain(T=int)
    if metric == "auto" and _consecutive_integers(space):
        return dp.atom_domain(T=int, bounds=(min(secrets), max(secrets)))
    charge = draws.as_charge()
    name, known = f"{charge.space}, sha256 {charge.metric}", secrets if space is None else space.position

    def member(secret: Any) -> bool:
        try:
            return secret in known
        except TypeError:  # not hashable, so no label
            return False

    return dp.user_domain(f"SecretsOf({name})", member)


def _is_point(value: Any, box: Box) -> bool:
    """Whether a value has as many coordinates as a point of a box, all finite floats or integers."""
    parts = value if isinstance(value, tuple | list) else (value,)
    numbers = all(isinstance(part, int | float) and not isinstance(part, bool) for part in parts)
    return numbers and len(parts) == box.dimension and all(map(isfinite, parts))


def _consecutive_integers(space: FiniteSpace | None) -> bool:
    """Whether the labels are integers in a row and d(x, z) = |x − z|, exactly."""
    if space is None or not all(
        isinstance(label, int) and not isinstance(label, bool) and label in _INT32 for label in space.labels
    ):
        return False
    labels = np.array(space.labels, dtype=np.int64)
    table = space.distances
    if labels.max() - labels.min() != len(labels) - 1 or table.form is not Form.RATIONAL or table.unit != 1:
        return False
    return bool((table.values == np.abs(labels[:, None] - labels)).all())


def _all_one_apart(space: FiniteSpace | None) -> bool:
    if space is None:
        return False
    table = space.distances
    between: NDArray[Any] = table.values[np.triu_indices(len(space), 1)]
    return table.form is Form.RATIONAL and table.unit == 1 and bool((between == 1).all())


def _drawing(draws: Sampler) -> Callable[[list[Any]], list[Any]]:
    """A function from secrets to outputs, with fresh noise from the exact sampler at each call."""
    rows, outputs = release_family(draws.domain).rows, draws.outputs
    if outputs is None:
        return lambda given: draws.draw(rows(draws, given)).tolist()
    return lambda given: [outputs[y] for y in draws.draw(rows(draws, given))]
