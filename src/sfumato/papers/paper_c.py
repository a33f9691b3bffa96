"""Figures and the third example of paper C (ElSalamouny, Chatzikokolakis and Palamidessi 2014), recomputed.

The thresholds of its Figure 6 and Example 3 are what a test μ ≥ −1e-4 gives in place of μ ≥ 0: below the true ones the
curves have no mechanism behind them. Where the curve of its Figure 7 begins, no such test explains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial, reduce
from math import exp, log, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify import Mechanism
from sfumato.channels import Prior
from sfumato.measures import bayes_vulnerability
from sfumato.mechanisms.lattice import Lattice, lattice_kernel, lattice_solution
from sfumato.mechanisms.proved import proved
from sfumato.mechanisms.tight import has_lattice_tight_constraints, lattice_threshold, lattice_tight_constraints
from sfumato.numbers import bounds_text
from sfumato.papers.tables import PaperTable, cell
from sfumato.privacy.regular import (
    database_leakage_bound,
    is_regular,
    leakage_bound,
    regular_region,
    utility_bound,
)
from sfumato.privacy.similarity import Quotient, quotient, solve_signs
from sfumato.privacy.threshold import regular_threshold, tight_threshold
from sfumato.privacy.type import PrivacyType
from sfumato.report.figure import ROLES, SERIES, canvas, caption, tint
from sfumato.spaces import (
    FiniteSpace,
    count_query,
    cycle,
    discrete,
    hamming,
    is_uniformly_sensitive,
    k_count_query,
    line,
    query,
    sum_query,
)

_TOLERANCE = 1e-4  # The paper's numbers come out with this tolerance in its test; it was found by trying.
# Example 3 has five independent individuals with this prior.
_LETTERS = Prior(range(4), ["0.3", "0.27", "0.23", "0.2"])
_INDIVIDUALS = 5


# ----------------------------------------------------------------- figures 1 and 5: graphs of answers


def figure_1() -> PaperTable:
    """The graphs that a count, a count in a circle and two counts induce on their answers, from all databases."""
    cases = (
        ("a count, u = 5", lambda db: sum(db), (0, 1), 5, count_query(5)),
        ("a count modulo 5, u = 5", lambda db: sum(db) % 5, (0, 1), 5, cycle(5)),
        ("two counts, u = 3", _two_counts, _TWO_PROPERTIES, 3, k_count_query(3, 2)),
    )
    notes = (
        "Edges are found by evaluating each query on all databases of u individuals and on all their neighbours; then "
        "distances are compared with those of the known space, all pairs.",
        "The figure shows a line, and a grid with diagonals for two counts; what its query in the middle is cannot be "
        "read in our copy of the paper. A count modulo 5 stands in for it: a circle, as in Example 1.",
        "Every query is uniformly 1-sensitive for the distance of its graph, so that Theorem 1 gives Corollary 1.",
    )
    return _induced_graphs("C.fig1", "Graphs that queries induce on their answers", cases, notes)


def figure_5() -> PaperTable:
    """The graphs of the two case studies: a sum with v = 3, and two counts."""
    cases = (
        ("(a) a sum, u = 3, v = 3", lambda db: sum(db), range(4), 3, sum_query(3, 3)),
        ("(b) two counts, u = 4", _two_counts, _TWO_PROPERTIES, 4, k_count_query(4, 2)),
    )
    notes = (
        "(a): i and j are adjacent when |i − j| ≤ v. (b): when both counts differ by at most 1, diagonals included, "
        "since one individual can have both properties or none.",
        "Edges are found by evaluating each query on all databases of u individuals and on all their neighbours.",
    )
    return _induced_graphs("C.fig5", "Adjacency graphs of the case studies", cases, notes)


_TWO_PROPERTIES = ((0, 0), (0, 1), (1, 0), (1, 1))  # An individual has none, one or both of two properties.


def _two_counts(database: Sequence[tuple[int, int]]) -> tuple[int, int]:
    first, second = (sum(has) for has in zip(*database, strict=True))
    return first, second


def _graph_row(
    name: str, function: Callable[[Any], Any], values: Sequence[Any], individuals: int, known: FiniteSpace
) -> dict[str, Any]:
    """The induced graph of a query, by enumeration, beside the space that we use for it."""
    found = query(function, values=values, individuals=individuals)
    databases = hamming(individuals, symbols=len(values))

    def answer(word: str) -> Any:
        return function([values[int(letter)] for letter in word])

    same = set(found.labels) == set(known.labels) and all(
        found.distance(y, z) == known.distance(y, z) for y in known.labels for z in known.labels
    )
    edges = _adjacent(found)
    degrees = [sum(y in edge for edge in edges) for y in found.labels]
    return {
        "query": name, "databases": len(databases), "answers": len(found), "edges": len(edges),
        "neighbours": f"{min(degrees)} to {max(degrees)}", "largest distance": int(found.distances.floats.max()),
        "same as": known.name if same else "—",
        "uniformly 1-sensitive": str(is_uniformly_sensitive(answer, databases, found).outcome),
    }  # fmt: skip


def _adjacent(space: FiniteSpace) -> list[tuple[Any, Any]]:
    """Pairs of labels at distance 1."""
    return [(y, z) for k, y in enumerate(space.labels) for z in space.labels[:k] if space.distance(y, z) == 1]


def _induced_graphs(key: str, title: str, cases: Sequence[tuple[Any, ...]], notes: tuple[str, ...]) -> PaperTable:
    drawn = [(name, answers) for name, *_, answers in cases]
    return PaperTable(key, title, tuple(_graph_row(*case) for case in cases), notes, partial(_draw_graphs, drawn))


# ----------------------------------------------------------------- figures 2 and 3: regions


def figure_2() -> PaperTable:
    """Corner priors of three secrets in a line and in a circle."""
    rows = []
    for name, space in (("line", line(3)), ("circle", cycle(3))):
        for epsilon in ("0.7", "1.6"):
            region = regular_region(PrivacyType(space, epsilon=epsilon))
            row: dict[str, Any] = {"secrets in a": name, "ε": epsilon}
            row |= {f"c{k}": _shown(corner.weights) for k, corner in enumerate(region.corners, 1)}
            rows.append(row | {"share of all priors": round(region.share, 6), "uniform is": _uniform(space, epsilon)})
    notes = (
        "The paper draws these regions and prints no numbers.",
        "It says that regions expand with ε in general. On these spaces they do, on all graphs they do not: on K_{3,3} "
        "with one more edge the uniform prior is regular at e^{−ε} = 3/4 and not at 2/3.",
    )
    return PaperTable("C.fig2", "Regions of regular priors on three secrets", tuple(rows), notes, _draw_2)


def figure_3() -> PaperTable:
    """Regions of four secrets that are all equally far apart."""
    rows = []
    for distance in ("0.5", "1", "2", "4"):
        region = regular_region(PrivacyType(discrete(4), epsilon=distance))
        rows.append({
            "D": distance, "c1": _shown(region.corners[0].weights), "share of all priors": round(region.share, 6),
            "uniform is": _uniform(discrete(4), distance),
        })  # fmt: skip
    notes = (
        "The paper draws the region for several D and prints no numbers. With t = e^{−D} its share of the volume is "
        "((1 − t)/(1 + 3t))³, which tends to 1.",
    )
    return PaperTable(
        "C.fig3", "Regions of regular priors on four equally distant secrets", tuple(rows), notes, _draw_3
    )


def _shown(weights: Any) -> str:
    return " ".join(f"{float(w):.6f}" for w in weights)


def _uniform(space: FiniteSpace, epsilon: str) -> str:
    return "regular" if is_regular(Prior.uniform(space), PrivacyType(space, epsilon=epsilon)) else "not regular"


# ----------------------------------------------------------------- figure 4 and example 3: leakage


def figure_4() -> PaperTable:
    """Bounds on the leakage about a database of five records."""
    rows = [_leakage_row(epsilon) for epsilon in ("0.3", "0.4", "0.48", "0.5", "0.6", "0.7", "0.8", "0.9", "1")]
    notes = (
        "Five individuals with four values each; the prior is a product, so that regularity, bounds and mechanisms are "
        "those of one individual, five times.",
        "Where the prior is not regular Proposition 5 does not apply, and its formula with a negative μ is no bound: "
        "a private mechanism leaks more.",
        "Our bound is max Σ πz over Φz ≤ 1, z ≥ 0. It is attained: the last column is what a mechanism with proved "
        "integer weights leaks, random response on the two, three or four likeliest values of each record.",
    )
    return PaperTable("C.fig4", "Bits leaked about a database of five records", tuple(rows), notes, _draw_4)


def _leakage_row(epsilon: str) -> dict[str, Any]:
    privacy = PrivacyType(discrete(4), epsilon=epsilon)
    regular = bool(is_regular(_LETTERS, privacy))
    formula = _signed_leakage(epsilon)
    return {
        "ε": epsilon,
        "all priors (Theorem 3)": round(database_leakage_bound(_INDIVIDUALS, 4, epsilon=epsilon), 5),
        "prior is": "regular" if regular else "not regular",
        "Proposition 5": round(formula, 5) if regular else f"{formula:.5f}, no bound",
        "our bound": round(_INDIVIDUALS * leakage_bound(_LETTERS, privacy), 5),
        "leaked by a mechanism": round(_mechanism_leakage(privacy), 5),
    }


def _signed_leakage(epsilon: str) -> float:
    """The formula of Proposition 5 whatever the signs: Σ μ = 1 / (1 + 3 e^{−ε}) for one individual."""
    return _INDIVIDUALS * log2(1 / (1 + 3 * exp(-float(epsilon))) / float(_LETTERS.weights.max()))


@cache
def _letter_mechanism(epsilon: Fraction) -> Mechanism:
    """Random response on the values worth reporting; a value never reported is answered by any of them alike."""
    privacy = PrivacyType(discrete(4), epsilon=epsilon)
    alpha = exp(-float(epsilon))
    chances = [_LETTERS.float_weights[:k].sum() / (1 + (k - 1) * alpha) for k in range(1, 5)]
    reported = 1 + int(np.argmax(chances))
    rows = np.full((4, reported), 1 / reported)
    rows[:reported] = (alpha + (1 - alpha) * np.eye(reported)) / (1 + (reported - 1) * alpha)
    return proved("random response on the likely values", privacy, rows, range(reported))


def _mechanism_leakage(privacy: PrivacyType) -> float:
    """Bits that five copies leak, from the exact vulnerability of the integer weights."""
    assert privacy.epsilon is not None
    chance = bayes_vulnerability(_LETTERS, _letter_mechanism(privacy.epsilon).channel)
    return _INDIVIDUALS * log2(chance / _LETTERS.weights.max())


def example_3() -> PaperTable:
    """The two claims of Example 3 that are false, and the one that holds."""
    threshold = regular_threshold(_LETTERS, discrete(4), digits=6)
    half = PrivacyType(discrete(4), epsilon="0.5")
    own = round(_INDIVIDUALS * leakage_bound(_LETTERS, half), 5)
    most = round(database_leakage_bound(_INDIVIDUALS, 4, epsilon="0.5"), 5)
    leaked = f"a proved mechanism leaks {_mechanism_leakage(half):.5f}"
    claims = (
        ("the prior is regular from ε =", "0.48", float(threshold), str(threshold)),
        ("bits leaked at ε = 0.5, this prior, at most", "1.2", own, leaked),
        ("bits leaked at ε = 0.5, any prior, at most", "2.5", most, "5 log₂(4 e^ε / (3 + e^ε))"),
        ("with μ ≥ −1e-4 for μ ≥ 0, from ε =", "0.48", _tolerant_example(), "in steps of 0.01"),
    )
    rows = tuple({"quantity": name, "value": cell(printed, ours), "exactly": exactly}
                 for name, printed, ours, exactly in claims)  # fmt: skip
    notes = (
        "μ is the fifth power of one individual's (π − t/(1 + 3t)) / (1 − t), t = e^{−ε}, which is non-negative "
        "exactly when 0.2 (1 + 3t) ≥ t, that is, t ≤ 1/2.",
        "The mechanism: for each individual, report one of the three likeliest values by random response, and for the "
        "fourth any of the three with chance 1/3.",
    )  # fmt: skip
    return PaperTable("C.example3", "Example 3: five records of four values", rows, notes)


def _tolerant_example() -> float:
    """The smallest ε in steps of 0.01 at which all entries of μ are above −1e-4."""
    weights = _LETTERS.float_weights
    for step in range(1, 100):
        t = exp(-step / 100)
        single = (weights - t / (1 + 3 * t)) / (1 - t)
        if reduce(np.multiply.outer, [single] * _INDIVIDUALS).min() >= -_TOLERANCE:
            return step / 100
    return 1.0


# ----------------------------------------------------------------- figures 6 and 7: thresholds and utility


def figure_6a() -> PaperTable:
    """The sum query with 150 individuals and values up to 5."""
    title = "Sum query, u = 150, v = 5: chance of the right answer"
    epsilons = ("0.8", "0.9", "1.0", "1.1", "1.2", "1.3")

    def geometric(epsilon: float) -> float:
        return _truncated_geometric(751, exp(-epsilon / 5))

    return _query("C.fig6a", title, sum_query(150, 5), epsilons, geometric, "the sum of 150 values up to 5")


def figure_6b() -> PaperTable:
    """Two counts over thirty individuals."""
    title = "Two counts, u = 30: chance of the right answer"
    epsilons = ("0.9", "1.0", "1.1", "1.2", "1.3")

    def geometric(epsilon: float) -> float:
        return _truncated_geometric(31, exp(-epsilon / 2)) ** 2

    return _query("C.fig6b", title, k_count_query(30, 2), epsilons, geometric, "two counts over 30 individuals")


def _truncated_geometric(n: int, alpha: float) -> float:
    """The chance of the truth under a uniform prior; the best remap is none."""
    return (n * (1 - alpha) + 2 * alpha) / ((1 + alpha) * n)


def _diagonal(system: Quotient, epsilon: str) -> tuple[bool, float, float]:
    """Whether z ≥ 0, proved; the least entry of z and its mean, in floats."""
    solution = solve_signs(system, PrivacyType(system.space, epsilon=epsilon), [Fraction(1)] * len(system))
    if solution is None or not solution.decided:
        raise AssertionError("a rational ε leaves no sign undecided")
    values = solution.values.astype(np.float64)
    return -1 not in solution.signs, float(values.min()), float((values * system.sizes).sum() / system.sizes.sum())


def _query(
    key: str, title: str, space: FiniteSpace, epsilons: Sequence[str], geometric: Callable[[float], float], what: str
) -> PaperTable:
    """The utility of a query at some ε, the first of them what the paper prints as the smallest."""
    system, printed = quotient(space), epsilons[0]
    threshold = tight_threshold(space, digits=9)
    rows = []
    for epsilon in epsilons:
        exists, least, mean = _diagonal(system, epsilon)
        bound = mean if exists else utility_bound(Prior.uniform(space), PrivacyType(space, epsilon=epsilon)).value
        rows.append(
            _utility_row(epsilon, mean, least, exists, float(bound), "geometric", geometric(float(epsilon)))
        )  # fmt: skip
    below = round(100 * float(printed)) - 2
    tolerant = next(s for s in range(below, 200) if _diagonal(system, f"{s / 100}")[1] >= -_TOLERANCE * len(space))
    notes = (
        f"The mechanism exists from ε = {threshold} on, for every larger ε, and not from {printed} on: there the only "
        "solution of Φz = 1 has negative entries, and the curve has no mechanism behind it.",
        f"With μ = z/n ≥ −1e-4 in place of μ ≥ 0 the smallest ε in steps of 0.01 is {tolerant / 100:.2f}, as printed.",
        "Where there is no such mechanism the bound is max Σ z/n over Φz ≤ 1, z ≥ 0.",
    )
    ends = float(printed), float(epsilons[-1])
    draw = partial(_draw_query, system, ends, geometric, float(threshold), what)
    return PaperTable(key, title, _with_threshold(rows, printed, float(threshold)), notes, draw)


def _utility_row(
    epsilon: str, curve: float, least: float, exists: bool, bound: float, rival: str, other: float
) -> dict[str, Any]:
    return {
        "ε": epsilon,
        "the paper's curve, Σz/n": round(curve, 6),
        "least z": round(least, 6),
        "tight constraints": round(curve, 6) if exists else "none",
        "no mechanism exceeds": round(bound, 6),
        rival: round(other, 6),
    }


def _with_threshold(rows: Sequence[dict[str, Any]], printed: str, threshold: float) -> tuple[dict[str, Any], ...]:
    """With the one number that the paper prints beside the first row: from which ε on there is such a mechanism."""
    return tuple(row | {"smallest ε": "" if k else cell(printed, threshold)} for k, row in enumerate(rows))


def figure_7() -> PaperTable:
    """Locations on a grid of 100 × 100 cells of one kilometre."""
    rows = []
    for epsilon in ("0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "1.1", "1.2", "1.3"):
        lattice = Lattice((100, 100))
        verdict = has_lattice_tight_constraints(lattice, epsilon=epsilon)
        exists, solution = bool(verdict), verdict.witness
        curve, least = float(solution.values.mean()), float(solution.values.min())
        if exists:
            mechanism = lattice_tight_constraints(lattice, epsilon=epsilon)
            curve, bound = float(mechanism.utility), mechanism.utility_bound
        else:  # Φz⁺ ≥ Φz = 1 up to the residual, so z⁺/n proves a bound
            bound = float(np.maximum(solution.values, 0).mean()) / (1 - abs(solution.residual[1])) * (1 + 1e-12)
        rows.append(
            _utility_row(epsilon, curve, least, exists, bound, "planar Laplace", _planar_laplace(float(epsilon)))
        )
    threshold = lattice_threshold(Lattice((100, 100)), digits=7)
    shown = _with_threshold(rows, "0.4", float(threshold.high))
    low, high = bounds_text(threshold.low, threshold.high, 8)
    notes = (
        f"At ε = {low} there is no such mechanism, at {high} there is one, both proved; the paper's curve begins at "
        "0.4.",
        "All 10,000 rows have proved integer weights, and no 10,000 × 10,000 table was made.",
        "Planar Laplace: the continuous mechanism for this ε, its output moved to the nearest cell, which is a "
        "post-processing and costs no ε; the paper speaks of a slightly adjusted one.",
        "Where there is no such mechanism the bound is Σ max(z, 0)/n, since Φ max(z, 0) ≥ Φz = 1.",
        "Why the printed curve begins at 0.4 is not known. A test μ ≥ −1e-4 for μ ≥ 0, which gives the thresholds of "
        f"Figure 6, accepts every ε here: at 0.4 the least μ = z/n is {float(rows[0]['least z']) / 1e4:.1e}.",
    )  # fmt: skip
    draw = partial(_draw_7, float(threshold.high))
    return PaperTable("C.fig7", "100 × 100 locations: chance of the right cell", shown, notes, draw)


@cache
def _planar_laplace(epsilon: float, side: int = 100) -> float:
    """The chance that a planar Laplace point rounds to the cell it started in, on average over the grid."""
    angle = (np.arange(40_000) + 0.5) * (2 * np.pi / 40_000)
    right, up = np.cos(angle), np.sin(angle)

    def mass(walls: Sequence[NDArray[np.float64]]) -> float:
        # distance to the nearest wall half a step away, in each direction; none means infinitely far
        far = np.full(angle.shape, np.inf)
        for wall in walls:
            with np.errstate(divide="ignore"):
                far = np.minimum(far, np.where(wall > 0, 0.5 / wall, np.inf))
        reach = np.where(np.isfinite(far), epsilon * far, 0.0)
        return float(np.where(np.isfinite(far), 1 - (1 + reach) * np.exp(-reach), 1.0).mean())

    inside, edge, corner = mass([right, -right, up, -up]), mass([right, -right, up]), mass([right, up])
    return ((side - 2) ** 2 * inside + 4 * (side - 2) * edge + 4 * corner) / side**2


# ----------------------------------------------------------------- drawing


def _draw_graphs(cases: Sequence[tuple[str, FiniteSpace]]) -> Any:
    """Answers as dots and their edges; in a row of sums edges are arcs, since they would hide each other."""
    figure = canvas(width=900, height=420)
    for shift, (name, space) in enumerate(cases):
        places, edges = _places(space), _adjacent(space)
        centre = np.array([1.35 * shift, 0.0])
        numbers = not isinstance(space.labels[0], tuple)
        for y, z in edges:
            path = _arc(places[y], places[z], bend=1.6 if numbers and space.name.startswith("sum") else 0.0) + centre
            figure.add_scatter(
                x=path[:, 0], y=path[:, 1], mode="lines", line={"color": ROLES["faint"], "width": 1.2},
                hoverinfo="skip", showlegend=False,
            )  # fmt: skip
        dots = np.array([places[y] for y in space.labels]) + centre
        texts = [",".join(map(str, y)) if isinstance(y, tuple) else str(y) for y in space.labels]
        figure.add_scatter(
            x=dots[:, 0], y=dots[:, 1], mode="markers+text", text=texts, textposition="middle center",
            textfont={"size": 10}, name=name, showlegend=False,
            marker={"color": tint(SERIES[1], 0.15), "size": 21, "line": {"color": SERIES[1], "width": 1}},
        )  # fmt: skip
        figure.add_annotation(x=centre[0], y=-0.75, text=name, showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")
    return caption(figure, "Answers of queries. An edge joins two answers that two adjacent databases give.")


def _places(space: FiniteSpace) -> dict[Any, NDArray[np.float64]]:
    """Where answers are drawn, in a square of side 1 around the origin."""
    labels = space.labels
    if isinstance(labels[0], tuple):
        side = max(labels)[0]
        return {y: np.array(y) / side - 0.5 for y in labels}
    if space.name.startswith("cycle"):
        turn = 2 * np.pi / len(labels)
        return {y: 0.5 * np.array([np.sin(k * turn), np.cos(k * turn)]) for k, y in enumerate(labels)}
    return {y: np.array([k / (len(labels) - 1) - 0.5, 0.0]) for k, y in enumerate(labels)}


def _arc(start: NDArray[np.float64], end: NDArray[np.float64], bend: float) -> NDArray[np.float64]:
    """Points from start to end; bent upwards the more, the further apart they are."""
    t = np.linspace(0, 1, 17 if bend else 2)[:, None]
    lift = bend * np.abs(end - start)[:1] * 2 * t * (1 - t)
    return (1 - t) * start + t * end + np.hstack([0 * t, lift])


def _draw_2() -> Any:
    corners = np.array([[0, 0], [0.5, 3**0.5 / 2], [1, 0]])
    figure = canvas(width=900, height=440)
    for shift, (name, space) in enumerate((("line", line(3)), ("circle", cycle(3)))):
        frame = corners + np.array([1.25 * shift, 0])
        outline = np.vstack([frame, frame[:1]])
        figure.add_scatter(
            x=outline[:, 0], y=outline[:, 1], mode="lines", line={"color": ROLES["frame"]}, showlegend=False
        )
        for epsilon, colour in zip(("1.6", "0.7"), SERIES, strict=False):
            region = regular_region(PrivacyType(space, epsilon=epsilon))
            places = np.array([c.weights.astype(float) for c in region.corners]) @ frame
            places = np.vstack([places, places[:1]])
            figure.add_scatter(
                x=places[:, 0], y=places[:, 1], mode="lines+markers", fill="toself", name=f"ε = {epsilon}",
                fillcolor=tint(colour, 0.35), line={"color": colour, "width": 2}, showlegend=not shift,
            )  # fmt: skip
        figure.add_annotation(x=frame[:, 0].mean(), y=-0.08, text=name, showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")
    return caption(
        figure, "Regular priors on three secrets, in a line and in a circle; their corners are the corner priors."
    )


def _draw_3() -> Any:
    figure = canvas()
    faces = ([0, 0, 0, 1], [1, 1, 2, 2], [2, 3, 3, 3])
    for distance, colour, opacity in zip(("0.5", "1", "2", "4"), SERIES, (1.0, 0.5, 0.3, 0.15), strict=False):
        region = regular_region(PrivacyType(discrete(4), epsilon=distance))
        x, y, z = np.array([c.weights.astype(float)[:3] for c in region.corners]).T
        i, j, k = faces
        figure.add_mesh3d(
            x=x, y=y, z=z, i=i, j=j, k=k, color=colour, opacity=opacity, name=f"D = {distance}", showlegend=True
        )
    figure.update_scenes(xaxis_title="π₁", yaxis_title="π₂", zaxis_title="π₃")
    return caption(figure, "Regular priors on four equally distant secrets, shown by their first three weights.")


def _draw_4() -> Any:
    epsilon = [k / 50 for k in range(10, 51)]
    bound = [_INDIVIDUALS * leakage_bound(_LETTERS, PrivacyType(discrete(4), epsilon=e)) for e in epsilon]
    series = [
        ("all priors (Theorem 3)", epsilon, [database_leakage_bound(_INDIVIDUALS, 4, epsilon=e) for e in epsilon], ""),
        ("this prior, attained", epsilon, bound, ""),
        ("formula of Proposition 5", epsilon, [_signed_leakage(str(e)) for e in epsilon], "dot"),
    ]
    text = (
        "Bits leaked about five records. The dotted formula is a bound only from ε = ln 2 on (vertical line), where it "
        "meets ours; to the left a private mechanism leaks more."
    )
    return _curves(series, "bits", log(2), text)


def _draw_query(
    system: Quotient, ends: tuple[float, float], geometric: Callable[[float], float], threshold: float, what: str
) -> Any:
    epsilon = [round(e, 3) for e in np.linspace(*ends, 21).tolist()]
    curve = [_diagonal(system, str(e))[2] for e in epsilon]
    return _utility(epsilon, curve, threshold, "geometric", [geometric(e) for e in epsilon], f"answer for {what}")


def _draw_7(threshold: float) -> Any:
    lattice = Lattice((100, 100))
    epsilon = [round(e, 3) for e in np.linspace(0.4, 1.3, 19).tolist()]
    kernels = (lattice_kernel(lattice, str(e)) for e in epsilon)
    curve = [float(lattice_solution(kernel, accuracy=1e-9).values.mean()) for kernel in kernels]
    rival = [_planar_laplace(e) for e in epsilon]
    return _utility(epsilon, curve, threshold, "planar Laplace", rival, "cell among 100 × 100")


def _utility(
    epsilon: list[float], curve: list[float], threshold: float, rival: str, other: list[float], what: str
) -> Any:
    """The paper's curve, dotted where no mechanism is behind it, and that of a rival."""
    last = sum(e < threshold for e in epsilon)
    series = [
        ("tight constraints", epsilon[last:], curve[last:], ""),
        ("Σz/n, no mechanism", epsilon[: last + 1], curve[: last + 1], "dot"),
        (rival, epsilon, other, ""),
    ]
    text = (
        f"The chance of the right {what}, uniform prior. Left of the vertical line the dotted curve has no mechanism "
        "behind it."
    )
    return _curves(series, "chance", threshold, text)


def _curves(series: Sequence[tuple[str, list[float], list[float], str]], what: str, mark: float, text: str) -> Any:
    figure = canvas(height=460)
    for (name, x, y, dash), colour in zip(series, SERIES, strict=False):
        figure.add_scatter(
            x=x, y=y, name=name, mode="lines", line={"color": colour, "width": 2, "dash": dash or "solid"}
        )
    figure.add_vline(x=mark, line={"color": ROLES["faint"], "width": 1})
    figure.update_xaxes(title_text="ε", showline=True, ticks="outside", zeroline=False)
    figure.update_yaxes(title_text=what, showline=True, ticks="outside", rangemode="tozero")
    figure.update_layout(margin={"l": 64, "b": 56}, legend={"x": 0.02, "xanchor": "left"})
    return caption(figure, text)


ITEMS: dict[str, Callable[[], PaperTable]] = {
    "C.fig1": figure_1,
    "C.fig2": figure_2,
    "C.fig3": figure_3,
    "C.fig4": figure_4,
    "C.fig5": figure_5,
    "C.fig6a": figure_6a,
    "C.fig6b": figure_6b,
    "C.fig7": figure_7,
    "C.example3": example_3,
}
"""What is shown of paper C, by key."""
