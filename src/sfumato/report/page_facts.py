"""What a report says of a mechanism, as numbers: its loss and bound, peers, leakage, where its promise is tightest.

Losses and bounds are those that were proved. Everything else is measured in floats, or in rationals for small tables,
and left out where it would take minutes; a note then says so.

Planar Laplace noise around places that are no grid is what people do without a design, as a table to compare with.
Noise of density ∝ e^{−ε|z|} is added to the position, and the output nearest to where it lands is told. The table of
probabilities is found by quadrature (directions × quantiles of the radius) and proves nothing: losses are good to some
thousandths of themselves, and on the Earth the noise is carried along great circles, where the promise of the plane
holds only as far as the Earth is flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import gammainc, gammaincinv

from sfumato.arguments import flag, optional_function
from sfumato.certify.mechanism import Claim, Mechanism
from sfumato.certify.protocol import tabled
from sfumato.certify.verify import claim_of
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.channels.ratios import log_ratios
from sfumato.design.comparison import compare_known
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, advice, expect, keyword
from sfumato.losses import LOSSES, Loss
from sfumato.measures.leakage import Capacity, capacity
from sfumato.measures.uncertainty import bayes_vulnerability, expected_loss, posterior_loss, prior_loss
from sfumato.mechanisms.proved import LARGEST_TABLE
from sfumato.numbers import Floats, float_above, floats, log_bounds, printed_above
from sfumato.privacy.capacities import TypeCapacities, capacities
from sfumato.privacy.events import EventPromise
from sfumato.privacy.satisfaction import Tightest
from sfumato.release.estimation.counts import output_counts
from sfumato.report.maps import MapLayout, map_layout
from sfumato.report.maps_peers import Peer
from sfumato.spaces.finite import FiniteSpace, label_place
from sfumato.spaces.ground import earth_radius, unit_vectors

_PROVED_PEERS = 160  # Up to so many secrets known mechanisms are built and proved, in a second each.
_TYPE_CAPACITIES = 64  # Up to so many secrets the capacities of a type take a second or two.
_MOST_COMPARISONS = 2 * 10**10  # Looking for the tightest pair makes so many comparisons in some ten seconds.
_PEERS = ("geometric", "random_response", "hamming_kernel", "exponential", "exponential_exact", "permute_and_flip",
          "planar_laplace", "planar_geometric", "tight_constraints")  # fmt: skip
_LARGEST_EXACT = 2**18  # The loss of a table with so many entries takes a second in fractions; larger ones take floats.
_CHUNK = 4096  # So many pairs of rows are looked at together.
_BY_SPACE = ("distance", "bin", "absolute", "squared", "nib")  # These losses follow from the space alone.
_SAME_TABLE = 1e-12  # A loss gets the name of a standard one that equals it up to this relative error.


@dataclass(frozen=True)
class EventExcess:
    """Where a promise about events is tightest: Σ_y max(0, M(x)(y) − e^ε M(z)(y)) beside the δ that is promised."""

    promise: EventPromise
    pair: tuple[Any, Any]
    excess: float


@dataclass(frozen=True, eq=False)
class Facts:
    """Everything that a report shows.

    Parameters
    ----------
    matrix
        The mechanism in floats.
    prior, assumed
        The prior, and whether nobody gave it: then all secrets are equally likely.
    loss, value, bound, criterion
        What is at stake, what the mechanism loses and what none can go below; None where that is not known. A loss
        without a bound is measured here, in floats for large tables.
    as_is, blind
        Expected loss with outputs taken as actions, and of who is told nothing.
    before, after
        The chance to guess the secret in one try.
    leaks, type_leaks
        Capacities of the mechanism and, where they are quick, of its type.
    released
        How often each output was released, if somebody did.
    claimed_name
        What a file calls its loss, if that is the name of a standard one and the numbers do not bear it out.
    notes
        What was left out and why, by part of the report.
    """

    mechanism: Mechanism
    matrix: Floats
    prior: Prior
    assumed: bool
    loss: Loss | None
    value: Fraction | None
    bound: Fraction | None
    criterion: str
    as_is: float | None
    blind: float | None
    before: float
    after: float
    leaks: Capacity
    type_leaks: TypeCapacities | None
    peers: tuple[Peer, ...]
    tightest: Tightest | None
    excesses: tuple[EventExcess, ...]
    secret: int
    released: NDArray[np.int64] | None = None
    claimed_name: str = ""
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def space(self) -> FiniteSpace:
        """Where the secrets live."""
        return self.mechanism.privacy.space

    @property
    def bounds_ratios(self) -> bool:
        """Whether anything is promised about ratios of probabilities, beside events."""
        return self.mechanism.bounds_ratios

    @property
    def gap(self) -> float | None:
        """How far above the bound the loss is, as a share of the loss."""
        if self.value is None or self.bound is None:
            return None
        return float((self.value - self.bound) / abs(self.value)) if self.value else 0.0


def facts_of(
    subject: Design | Mechanism,
    *,
    prior: Prior | None = None,
    loss: Loss | None = None,
    compare: bool = True,
    secret: Any = None,
    released: Iterable[Any] | Mapping[Any, int] | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Facts:
    """Measure a mechanism for a report; arguments as for :func:`sfumato.report.page.report`."""
    compare, say = flag(compare, "compare"), optional_function(progress, "progress") or (lambda _: None)
    mechanism = tabled(subject.mechanism if isinstance(subject, Design) else subject)
    space, notes = mechanism.privacy.space, {}
    matrix = float_matrix(mechanism)
    channel = Channel(mechanism.secrets, matrix, mechanism.outputs)
    # a name that comes from the caller is taken at its word, one that may come from a file is looked at
    believed, stake, claim = _stakes(mechanism, prior, loss, isinstance(subject, Design))
    unnamed = loss is None and stake is not None and not stake.name
    claimed_name = mechanism.loss_claim.loss.name if unnamed and mechanism.loss_claim is not None else ""
    weights = (believed or Prior.uniform(mechanism.secrets)).to_floats()
    say("where the promise is tightest")
    tightest = None
    if mechanism.weights.shape[1] * len(space.pairs.first) <= _MOST_COMPARISONS:
        tightest = _tightest(mechanism, matrix)
    else:
        notes["tightest"] = "The pair where privacy is tightest was not looked for: that would take minutes here."
    peers: tuple[Peer, ...] = ()
    if compare:
        peers, notes["peers"] = _peers(mechanism, believed, stake, say)
    type_leaks, notes["leaks"] = _type_leaks(mechanism, say)
    pointed_out = int(np.argmax(weights.float_weights))
    if secret is not None:
        pointed_out = label_place(secret, mechanism.secrets, "the secret whose outputs are drawn")
    if isinstance(released, np.ndarray):
        released = released.tolist()  # an array lists rows here, whatever its length
    inside = stake is not None and set(mechanism.outputs) <= set(stake.actions)
    return Facts(
        mechanism, matrix, weights, believed is None, stake, None if claim is None else claim.value,
        None if claim is None else claim.bound, "expected" if claim is None else claim.criterion,
        float(expected_loss(weights, channel, stake)) if stake is not None and inside else None,
        None if stake is None else float(prior_loss(weights, stake)),
        float(weights.weights.max()), float(bayes_vulnerability(weights, channel)), capacity(channel), type_leaks,
        peers, tightest, tuple(_excess(mechanism, matrix, event) for event in mechanism.events),
        pointed_out, None if released is None else output_counts(mechanism, released), claimed_name,
        {k: v for k, v in notes.items() if v},
    )  # fmt: skip


def float_matrix(mechanism: Mechanism) -> Floats:
    """The probabilities of a mechanism in float64, without its fractions."""
    if mechanism.weights.dtype == object:
        return floats(mechanism.channel.matrix)
    return np.asarray(mechanism.weights / mechanism.total)


# ----------------------------------------------------------------- what is at stake


def _stakes(
    mechanism: Mechanism, prior: Prior | None, loss: Loss | None, designed: bool
) -> tuple[Prior | None, Loss | None, Claim | None]:
    """Prior, loss and what is claimed for them: the claim of the mechanism, or its loss without a bound."""
    known = mechanism.loss_claim
    claimed = mechanism.claim.prior if mechanism.claim is not None else None
    believed = as_prior(prior) if prior is not None else claimed
    stake = expect(loss, Loss, "a loss", "losses.* make one") if loss is not None else known.loss if known else None
    check_secrets("mechanism, prior and loss", mechanism, *(part for part in (believed, stake) if part is not None))
    if stake is None:
        return believed, None, None
    if not stake.name or (loss is None and not designed):
        stake = named_loss(stake, mechanism.privacy.space)
    if known is not None and _same(known, believed, stake):
        return believed, stake, known
    if believed is None:
        raise InvalidInput(
            f"a loss was given and no prior: say {keyword('prior')} too"
            + advice(("design", "puts both into the file"), ("claim", "does so afterwards"))
        )
    if mechanism.weights.size <= _LARGEST_EXACT:
        return believed, stake, claim_of(believed, mechanism.weights, mechanism.total, stake)
    channel = Channel(mechanism.secrets, float_matrix(mechanism), mechanism.outputs)
    lost = posterior_loss(believed.to_floats(), channel, _in_floats(stake))
    return believed, stake, Claim(believed, stake, (), Fraction(float(lost)))


def _in_floats(loss: Loss) -> Loss:
    return Loss(loss.actions, loss.secrets, floats(loss.matrix), loss.name)


def _same(claim: Claim, prior: Prior | None, loss: Loss) -> bool:
    """Whether the claim is about this prior and this loss: equal numbers, however they are stored."""
    if claim.criterion == "expected" and not (
        prior is None or np.array_equal(claim.prior.float_weights, prior.float_weights)
    ):
        return False
    return claim.loss is loss or (
        claim.loss.actions == loss.actions and np.array_equal(floats(claim.loss.matrix), floats(loss.matrix))
    )


def named_loss(loss: Loss, space: FiniteSpace) -> Loss:
    """The loss under a name that its numbers bear out: its own, else that of a standard one that equals it.

    Whoever writes a file names the loss in it. ``distance`` and the other standard names stay only where the table is
    the one of that name on this space; names that are not among them are words for people and stay as they are.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> table = absolute(line(3)).matrix
    >>> [named_loss(Loss(range(3), line(3), k * table, "distance"), line(3)).name for k in (1, 2)]
    ['distance', '']
    """
    if loss.name and loss.name not in _BY_SPACE and not loss.name.startswith("threshold("):
        return loss
    names = [name for name in dict.fromkeys([loss.name, *_BY_SPACE]) if name]
    fitting = next((name for name in names if is_called(name, loss, space)), "")
    return loss if fitting == loss.name else Loss(loss.actions, loss.secrets, loss.matrix, fitting)


def is_called(name: str, loss: Loss, space: FiniteSpace) -> bool:
    """Whether a table is that of a standard loss, or some rows of it."""
    try:
        known = LOSSES["threshold"](space, name[10:-1]) if name.startswith("threshold(") else LOSSES[name](space)
    except InvalidInput:
        return False
    row_of = {action: row for row, action in enumerate(known.actions)}
    if not set(loss.actions) <= set(row_of):
        return False
    table, given = floats(known.matrix)[[row_of[action] for action in loss.actions]], floats(loss.matrix)
    return bool(np.isfinite(table).all()) and np.allclose(table, given, rtol=_SAME_TABLE, atol=0)


# ----------------------------------------------------------------- where it is tightest


def _tightest(mechanism: Mechanism, matrix: Floats) -> Tightest | None:
    """The pair and output that need the largest ε, up to the rounding of floats; integers say how much it needs."""
    space, weights = mechanism.privacy.space, mechanism.weights
    pairs = space.pairs
    if not pairs.first.size:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 is no number, and none is the largest
        logs = np.log(matrix)
        k = int(np.argmax(log_ratios(logs, *pairs) / space.pair_distances.floats))
        x, z = int(pairs.first[k]), int(pairs.second[k])
        y = int(np.nanargmax(np.abs(logs[x] - logs[z])))
    if weights[x, y] < weights[z, y]:
        x, z = z, x
    ratio = Fraction(int(weights[x, y]), int(weights[z, y]))
    low, high = space.ruler.bounds(space.pair_distances.values[k])
    epsilon = 0.0 if ratio == 1 else printed_above(log_bounds(ratio)[1] / low)
    return Tightest(
        (mechanism.secrets[x], mechanism.secrets[z]), mechanism.outputs[y], ratio, float_above(high), epsilon
    )


def _excess(mechanism: Mechanism, matrix: Floats, event: EventPromise) -> EventExcess:
    """The ordered pair that uses most of its δ."""
    factor, parts = float(event.factor), [slice(k, k + _CHUNK) for k in range(0, len(event), _CHUNK)]
    beyond = (matrix[event.upper[part]] - factor * matrix[event.lower[part]] for part in parts)
    excess = np.concatenate([np.maximum(rows, 0).sum(axis=1) for rows in beyond])
    k = int(excess.argmax())
    pair = (mechanism.secrets[event.upper[k]], mechanism.secrets[event.lower[k]])
    return EventExcess(event, pair, float(excess[k]))


# ----------------------------------------------------------------- beside others


def _type_leaks(mechanism: Mechanism, say: Callable[[str], Any]) -> tuple[TypeCapacities | None, str]:
    space = mechanism.privacy.space
    if not space.pairs.first.size or space.distances.infinite.any():
        return None, ""
    if len(space) > _TYPE_CAPACITIES:
        return None, (
            f"The most that any mechanism with this promise could leak was not computed: for {len(space):,} secrets it "
            f"takes long{advice(('capacities', 'does it'))}."
        )
    say("what mechanisms with this promise can leak")
    return capacities(mechanism.privacy), ""


def _peers(
    mechanism: Mechanism, prior: Prior | None, loss: Loss | None, say: Callable[[str], Any]
) -> tuple[tuple[Peer, ...], str]:
    """Known mechanisms with the same promise, the best after a remap first, and what to know about them."""
    privacy, n = mechanism.privacy, len(mechanism.secrets)
    if loss is None or prior is None:
        return (), "Without a prior and a loss there is nothing to compare with other mechanisms."
    if not privacy.space.pairs.first.size:
        return (), "Known mechanisms bound ratios of probabilities; beside a promise about events they say little."
    if n > LARGEST_TABLE:
        return (), f"Tables of other mechanisms are not built for {n:,} secrets."
    prior, loss = prior.to_floats(), _in_floats(loss)
    peers, notes = [], []
    if n <= _PROVED_PEERS:
        for row in compare_known(prior, loss, privacy, mechanisms=_PEERS, progress=say):
            as_is = None if row.loss is None else float(row.loss)
            peers.append(Peer(row.name, as_is, float(row.remapped), _guessed(prior, row.channel), row.epsilon))
    else:
        say("exponential")
        peers.append(_measured("exponential", _exponential(privacy.rate, privacy.space), prior, loss))
        notes.append(
            f"For {n:,} secrets they are computed in floats and not proved, and only the best known are shown."
        )
    if not any(peer.name == "planar_laplace" for peer in peers):
        layout = map_layout(privacy.space)
        if layout.kind in ("places", "cells") and (privacy.space.ground is None or layout.sphere):
            say("planar Laplace noise")
            table = laplace_table(privacy.space, layout, np.arange(n), privacy.rate)
            peers.append(_measured("planar_laplace", Channel(privacy.space, table, privacy.space.labels), prior, loss))
            notes.append(
                "Planar Laplace noise lands anywhere and is moved to the nearest place; its table is a quadrature, "
                "good to some thousandths, and not proved."
            )
    peers.sort(key=lambda peer: (round(peer.remapped, 12), peer.name))
    return tuple(peers), " ".join(notes)


def _exponential(rate: float, space: FiniteSpace) -> Channel:
    scores = np.exp(-rate / 2 * space.distances.floats)
    return Channel(space, scores / scores.sum(axis=1, keepdims=True), space.labels)


def _measured(name: str, channel: Channel, prior: Prior, loss: Loss) -> Peer:
    inside = set(channel.outputs) <= set(loss.actions)
    as_is = float(expected_loss(prior, channel, loss)) if inside else None
    return Peer(name, as_is, float(posterior_loss(prior, channel, loss)), _guessed(prior, channel))


def _guessed(prior: Prior, channel: Channel) -> float:
    return float(bayes_vulnerability(prior, channel.to_floats()))


_DIRECTIONS, _RADII = 72, 64
_MOST_NODES = 2_000_000  # So many nodes, over all secrets together, take about a second.
_FEWEST = 12


def laplace_table(space: FiniteSpace, layout: MapLayout, outputs: NDArray[np.int64], rate: float) -> Floats:
    """One row a secret, one column an output, given by its index among the secrets.

    Examples
    --------
    >>> from sfumato.report.maps import map_layout
    >>> from sfumato.spaces import points
    >>> two = points([(0.0, 0.0), (1.0, 0.25)])
    >>> table = laplace_table(two, map_layout(two), np.arange(2), 2.0)
    >>> table.sum(axis=1).tolist(), bool(table[0, 0] > 0.7)
    ([1.0, 1.0], True)
    """
    share = min(1.0, (_MOST_NODES / (_DIRECTIONS * _RADII * len(space))) ** 0.5)
    directions, parts = (max(_FEWEST, round(count * share)) for count in (_DIRECTIONS, _RADII))
    # the radius has the distribution function 1 − (1 + εr)e^{−εr}; the mean of each of its quantiles is a node
    radii = 2 * parts * np.diff(gammainc(3, gammaincinv(2, np.arange(parts + 1) / parts))) / rate
    turns = 2 * np.pi * (np.arange(directions) + 0.5) / directions
    if layout.sphere:
        assert space.coordinates is not None
        positions, landing = unit_vectors(*space.coordinates.T), _on_sphere(space, radii, turns)
    else:
        positions, landing = np.stack([layout.x, layout.y], axis=1), _in_plane(layout, radii, turns)
    tree = cKDTree(positions[outputs])  # on the sphere, the nearest by chord is the nearest
    result = np.empty((len(space), len(outputs)))
    for x in range(len(space)):
        nearest = tree.query(landing(x).reshape(-1, positions.shape[1]))[1]
        result[x] = np.bincount(nearest, minlength=len(outputs)) / nearest.size
    return result


def _in_plane(layout: MapLayout, radii: Floats, turns: Floats):  # type: ignore[no-untyped-def]
    steps = radii[:, None, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)[None]
    return lambda x: np.array([layout.x[x], layout.y[x]]) + steps


def _on_sphere(space: FiniteSpace, radii: Floats, turns: Floats):  # type: ignore[no-untyped-def]
    """From a place, so far along great circles in all directions."""
    where = space.coordinates
    assert where is not None
    up, longitude = unit_vectors(*where.T), np.radians(where[:, 0])
    east = np.stack([-np.sin(longitude), np.cos(longitude), np.zeros_like(longitude)], axis=1)
    north = np.cross(up, east)
    angles = (radii / earth_radius(space.unit))[:, None, None]

    def landing(x: int) -> Floats:
        heading = np.cos(turns)[None, :, None] * north[x] + np.sin(turns)[None, :, None] * east[x]
        return np.asarray(np.cos(angles) * up[x] + np.sin(angles) * heading)

    return landing
