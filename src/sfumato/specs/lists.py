"""From a spec to Python values where secrets are a list: space, prior, loss, outputs, objective.

Paths in a spec are relative to its folder. Whatever does not fit is one line with the file and the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from sfumato.channels import Prior
from sfumato.design import objectives
from sfumato.errors import InvalidInput, NotSupported
from sfumato.labels import text_of
from sfumato.losses import LOSSES, Loss
from sfumato.losses import default as default_loss
from sfumato.spaces import SPACES, FiniteSpace
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.spaces.lengths import in_unit
from sfumato.specs import schema, schema_stakes
from sfumato.specs.maps import MAPS, area_numbers
from sfumato.specs.question import naming_file
from sfumato.specs.schema_maps import AreasSpec
from sfumato.specs.spec import Spec
from sfumato.specs.tables import (
    Columns,
    amounts_by_label,
    column_in_order,
    column_texts,
    labelled_table,
    numbers_of,
    spelled_labels,
    usual_column,
)


def space_of(spec: Spec) -> FiniteSpace:
    """Where the secrets live; its unit may come from ``per`` of the promise. A box has no list of secrets."""
    if spec.space.kind not in BUILDERS:
        raise NotSupported(
            f"{spec.source}: [space]: a list of secrets of a box", ["kind = 'grid', the centres of cells"]
        )
    with naming_file(spec, "space"):
        built = BUILDERS[spec.space.kind](spec.space, spec)
    per = spec.privacy.per if spec.privacy is not None else None
    if per is None or per == built.unit:
        return built
    with naming_file(spec, "privacy"):
        if built.unit:
            raise InvalidInput(f"the promise is per {per!r}, but the distances of the space are in {built.unit!r}")
    return _in_unit(built, per)


def prior_of(spec: Spec, space: FiniteSpace) -> Prior:
    """How likely the secrets are."""
    with naming_file(spec, "prior"):
        return prior_in(spec.prior, spec, space)


def loss_of(spec: Spec, space: FiniteSpace) -> Loss:
    """What is at stake."""
    given = spec.loss
    with naming_file(spec, "loss"):
        if isinstance(given, schema_stakes.ThresholdSpec):
            return LOSSES["threshold"](space, given.radius)
        if isinstance(given, schema_stakes.MemberSpec):
            return LOSSES["member"](space, spelled_labels(given.members, space.labels, "secret of the space"))
        if isinstance(given, schema_stakes.LossMatrixSpec):
            if given.file is None:
                return LOSSES["matrix"](space, given.table, given.actions)
            names, entries = labelled_table(spec.columns(given.file), space.labels, "column for")
            texts = {text_of(label): label for label in space.labels}  # an action that is a secret keeps its own label
            return LOSSES["matrix"](space, entries, [texts.get(name, name) for name in names])
        return default_loss(space) if given.kind == "default" else LOSSES[given.kind](space)


def outputs_of(spec: Spec, loss: Loss) -> tuple[Any, ...] | None:
    """The actions that the mechanism may suggest, None for all."""
    given = spec.loss.outputs
    if given is None:
        return None
    with naming_file(spec, "loss", "outputs"):
        if isinstance(given, schema_stakes.OutputsSpec):
            if given.column is None:
                raise InvalidInput("columns are those of points on a box: name the column of the actions")
            given = column_texts(spec.columns(given.file), given.column)
        if not given:
            raise InvalidInput("name at least one action")
        return spelled_labels(given, loss.actions, "action of the loss")


def objective_of(spec: Spec, space: FiniteSpace) -> Any:
    """What is to be made small, as :mod:`sfumato.design.objectives` says it."""
    given = spec.objective
    with naming_file(spec, "objective"):
        limits = []
        if given.worst_loss is not None:
            limits.append(objectives.loss_at_most(given.worst_loss))
        if given.displacement is not None:
            limits.append(objectives.displacement_at_most(given.displacement.radius, given.displacement.probability))
        if given.kind == "worst secret":
            return objectives.worst_secret(limits=limits)
        if given.kind == "worst prior":
            priors = [prior_in(prior, spec, space) for prior in given.priors or ()]
            return objectives.worst_prior(priors, limits=limits)
        return objectives.expected(limits=limits, then=given.then)


def _by_parameters(given: Any, spec: Spec) -> FiniteSpace:
    """The constructor of that name, with the keys as its parameters."""
    return _in_unit(SPACES[given.kind](**given.parameters), given.unit)


def _sized(given: Any, spec: Spec) -> FiniteSpace:
    """A line, a cycle or equally distant secrets, with names of their own where labels are given."""
    said = given.parameters
    keys = {name: in_unit(said[name], given.unit, name) for name in said if name not in ("labels", "n")}
    space = SPACES[given.kind](given.size, **keys)
    if given.labels is not None:
        space = FiniteSpace(given.labels, space.source, "", space.name, space.coordinates)
    return _in_unit(space, given.unit)


def _graph(given: schema.GraphSpec, spec: Spec) -> FiniteSpace:
    edges: Iterable[Sequence[Any]] = given.edges or []
    if given.file is not None:
        table = spec.columns(given.file)
        ends = [column_texts(table, given.first), column_texts(table, given.second)]
        length = given.length or ("length" if "length" in table.header else None)
        edges = list(zip(*ends, *([] if length is None else [numbers_of(table, length)]), strict=True))
    return SPACES["graph"](edges, labels=given.nodes, unit=given.unit)


def _points(given: schema.PointsSpec, spec: Spec) -> FiniteSpace:
    coordinates, labels = _placed(given, spec, lambda _: given.columns)
    return SPACES["points"](coordinates, metric=given.metric, labels=labels, unit=given.unit)


def _geo(given: schema.GeoSpec, spec: Spec) -> FiniteSpace:
    names = (given.latitude, LATITUDES), (given.longitude, LONGITUDES)
    coordinates, labels = _placed(given, spec, lambda table: [_column(named, usual, table) for named, usual in names])
    degrees = [[float(value) for value in row] for row in coordinates]
    return SPACES["geo"](degrees, labels=labels, earth=given.earth)


def _placed(
    given: schema.PointsSpec | schema.GeoSpec, spec: Spec, columns: Callable[[Columns], Sequence[str]]
) -> tuple[Any, Any]:
    """Coordinates and labels, as they are listed or as columns of a file have them."""
    if given.file is None:
        return given.coordinates, given.labels
    table = spec.columns(given.file)
    coordinates = list(zip(*(numbers_of(table, name) for name in columns(table)), strict=True))
    return coordinates, given.labels if given.label is None else column_texts(table, given.label)


def _matrix(given: schema.MatrixSpec, spec: Spec) -> FiniteSpace:
    if given.file is None:
        distances = given.distances or []
        return FiniteSpace(given.labels or range(len(distances)), distances, given.unit)
    names, distances = labelled_table(spec.columns(given.file), None, "column", infinite=True)
    return FiniteSpace(given.labels or names, distances, given.unit)


def _elastic(given: schema.ElasticSpec, spec: Spec) -> FiniteSpace:
    if given.of.kind not in BUILDERS:
        raise InvalidInput(f"an elastic metric is one of a list of places: kind {given.of.kind!r} has none")
    space = BUILDERS[given.of.kind](given.of, spec)
    weights = given.weights
    if isinstance(weights, dict):
        secrets = spelled_labels(weights, space.labels, "place of the space")
        weights = dict(zip(secrets, weights.values(), strict=True))
    elif isinstance(weights, str):
        file = given.file or getattr(given.of, "file", None)
        weights = _secret_column(weights, file, given.label, given.of, spec, space)
    return SPACES["elastic"](space, weights, within=given.within)


BUILDERS: dict[str, Callable[[Any, Spec], FiniteSpace]] = {
    **dict.fromkeys(("line", "discrete", "cycle"), _sized),
    **dict.fromkeys(("hamming", "star", "complete_bipartite"), _by_parameters),
    **dict.fromkeys(("count_query", "sum_query", "k_count_query"), _by_parameters),
    "grid": lambda given, _: SPACES["grid"](*given.shape, metric=given.metric, step=given.step, unit=given.unit),
    "graph": _graph,
    "points": _points,
    "geo": _geo,
    "matrix": _matrix,
    **MAPS,
    "elastic": _elastic,
}
"""How each kind of space in a spec is built."""


def _in_unit(space: FiniteSpace, unit: str) -> FiniteSpace:
    return FiniteSpace(space.labels, space.source, unit, space.name, space.coordinates) if unit else space


def _column(named: str | None, usual: tuple[str, ...], table: Columns) -> str:
    """The column that was named, or the one with a usual name."""
    if named is not None:
        return named
    column = usual_column(table, usual, f"the {usual[0]}", f"say {usual[0]} = …")
    if not column:
        found = ", ".join(table.header[:8]) + (", …" if len(table.header) > 8 else "")
        raise InvalidInput(f"{table.file} has no column {usual[0]!r}: say {usual[0]} = … (it has {found})")
    return column


def prior_in(given: schema.PriorSpec, spec: Spec, space: FiniteSpace) -> Prior:
    """How likely the secrets are by one of the priors of a spec."""
    amounts = given.weights if given.counts is None else given.counts
    if given.points is not None or (isinstance(amounts, list) and any(isinstance(part, list) for part in amounts)):
        raise InvalidInput(
            "points and rows of numbers go with a box, kind = 'box' or 'earth_box': give one number a secret"
        )
    if amounts is None:
        return Prior.uniform(space)
    if isinstance(amounts, str):
        amounts = _prior_column(amounts, given, spec, space)
    elif isinstance(amounts, dict):
        amounts = amounts_by_label(amounts, space.labels, "secret of the space")
    return Prior(space, amounts) if given.counts is None else Prior.from_counts(amounts, space)


def _prior_column(name: str, given: schema.PriorSpec, spec: Spec, space: FiniteSpace) -> list[Fraction]:
    """A column in the order of the space: of the space's own file, or of another one."""
    plain = spec.space.of if isinstance(spec.space, schema.ElasticSpec) else spec.space
    file = given.file or getattr(plain, "file", None)
    if file is None:
        raise InvalidInput(f"{name!r} names a column, but neither [prior] nor [space] has a file")
    return _secret_column(name, file, given.label, plain, spec, space)


def _secret_column(
    name: str, file: str | None, label: str | None, plain: Any, spec: Spec, space: FiniteSpace
) -> list[Fraction]:
    """A column of a file with a row for each secret, in the order of the space or matched by a column of labels."""
    if file is None:
        raise InvalidInput(f"{name!r} names a column: say of which file = …")
    own = file == getattr(plain, "file", None)
    if own and isinstance(plain, AreasSpec):
        return area_numbers(plain, name, spec)
    if label is None and own and plain.kind in ("graph", "matrix", "roads"):
        raise InvalidInput(f"the rows of {file} are no secrets: name the file of {name!r} with file = …")
    return column_in_order(spec.columns(file), name, label, space.labels, "secrets")
