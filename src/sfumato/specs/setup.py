"""From a spec to Python values: space, promise, prior, loss, objective. Every command that takes a spec begins here.

Paths in a spec are relative to its folder. Whatever does not fit is one line with the file and the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.channels import Prior
from sfumato.errors import InvalidInput, SfumatoError
from sfumato.losses import LOSSES, Loss
from sfumato.losses import default as default_loss
from sfumato.privacy import PrivacyType, predicates
from sfumato.spaces import SPACES, FiniteSpace
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.spaces.lengths import in_unit
from sfumato.specs import schema
from sfumato.specs.complaints import nearest
from sfumato.specs.spec import Spec
from sfumato.specs.tables import Columns, column_of, in_order, labelled_table, numbers_of, read_columns, text_of

__all__ = [
    "BUILDERS",
    "Setup",
    "loss_of",
    "objective_of",
    "outputs_of",
    "prior_of",
    "privacy_of",
    "setup",
    "space_of",
    "under_of",
]


@dataclass(frozen=True, eq=False)
class Setup:
    """What a spec stands for; ``outputs`` is None where all actions may come, ``privacy`` where no ratio is bounded,
    because nothing is promised or only something about events, which is ``under`` then.
    """

    space: FiniteSpace
    prior: Prior
    loss: Loss
    privacy: PrivacyType | None
    outputs: tuple[Any, ...] | None
    objective: Any
    tolerance: float
    time_limit: float | None
    solver: str
    under: Any = ()

    @property
    def loss_on_outputs(self) -> Loss:
        """The loss with no other actions than the outputs."""
        if self.outputs is None:
            return self.loss
        rows = [self.loss.actions.index(w) for w in self.outputs]
        return Loss(self.outputs, self.loss.secrets, self.loss.matrix[rows], self.loss.name)


def setup(spec: Spec) -> Setup:
    """Everything that a spec stands for.

    Examples
    --------
    >>> from sfumato.specs.spec import spec_from_values
    >>> told = {"space": {"kind": "line", "n": 3}, "privacy": {"alpha": 0.5}, "loss": {"kind": "absolute"}}
    >>> made = setup(spec_from_values(told))
    >>> made.privacy, made.loss
    (PrivacyType(line(3), alpha=1/2), Loss(absolute, 3 actions, 3 secrets))
    """
    space = space_of(spec)
    loss = loss_of(spec, space)
    limit = spec.solve.time_limit
    return Setup(
        space,
        prior_of(spec, space),
        loss,
        None if spec.privacy is None or spec.privacy.delta is not None else privacy_of(spec, space),
        outputs_of(spec, loss),
        objective_of(spec, space),
        float(spec.solve.tolerance),
        None if limit is None else float(limit),
        spec.solve.solver,
        under_of(spec, space),
    )


def space_of(spec: Spec) -> FiniteSpace:
    """Where the secrets live; its unit may come from ``per`` of the promise."""
    with _naming(spec, "space"):
        built = BUILDERS[spec.space.kind](spec.space, spec.folder)
    per = spec.privacy.per if spec.privacy is not None else None
    if per is None or per == built.unit:
        return built
    with _naming(spec, "privacy"):
        if built.unit:
            raise InvalidInput(f"the promise is per {per!r}, but the distances of the space are in {built.unit!r}")
    return FiniteSpace(built.labels, built.source, per, built.name, built.coordinates)


def privacy_of(spec: Spec, space: FiniteSpace) -> PrivacyType:
    """What is promised."""
    if spec.privacy is None:
        raise InvalidInput(f"{spec.source}: table [privacy] is missing: say epsilon = … or alpha = …")
    with _naming(spec, "privacy"):
        return PrivacyType(space, epsilon=spec.privacy.epsilon, alpha=spec.privacy.alpha)


def under_of(spec: Spec, space: FiniteSpace) -> Any:
    """What is promised about events, and between which secrets."""
    told = spec.privacy
    if told is None or told.delta is None:
        return ()
    with _naming(spec, "privacy"):
        promised = predicates.epsilon_delta(epsilon=told.epsilon, alpha=told.alpha, delta=told.delta)
        return promised, (space if told.neighbours == "adjacent" else None)


def prior_of(spec: Spec, space: FiniteSpace) -> Prior:
    """How likely the secrets are."""
    with _naming(spec, "prior"):
        return _prior(spec.prior, spec, space)


def loss_of(spec: Spec, space: FiniteSpace) -> Loss:
    """What is at stake."""
    told = spec.loss
    with _naming(spec, "loss"):
        if isinstance(told, schema.Threshold):
            return LOSSES["threshold"](space, told.radius)
        if isinstance(told, schema.Member):
            return LOSSES["member"](space, _known(told.members, space.labels, "secret of the space"))
        if isinstance(told, schema.LossMatrix):
            return _loss_matrix(told, spec.folder, space)
        return default_loss(space) if told.kind == "default" else LOSSES[told.kind](space)


def outputs_of(spec: Spec, loss: Loss) -> tuple[Any, ...] | None:
    """The actions that the mechanism may suggest, None for all."""
    told = spec.loss.outputs
    if told is None:
        return None
    with _naming(spec, "loss", "outputs"):
        if isinstance(told, schema.Outputs):
            told = column_of(read_columns(spec.folder / told.file), told.column)
        if not told:
            raise InvalidInput("name at least one action")
        return _known(told, loss.actions, "action of the loss")


def objective_of(spec: Spec, space: FiniteSpace) -> Any:
    """What is to be made small, as :mod:`sfumato.design.objectives` says it."""
    from sfumato.design import objectives

    told = spec.objective
    with _naming(spec, "objective"):
        limits = []
        if told.worst_loss is not None:
            limits.append(objectives.loss_at_most(told.worst_loss))
        if told.displacement is not None:
            limits.append(objectives.displacement_at_most(told.displacement.radius, told.displacement.probability))
        if told.kind == "worst secret":
            return objectives.worst_secret(limits=limits)
        if told.kind == "worst prior":
            priors = [_prior(prior, spec, space) for prior in told.priors or ()]
            return objectives.worst_prior(priors, limits=limits)
        return objectives.expected(limits=limits, then=told.then)


@contextmanager
def _naming(spec: Spec, *path: str) -> Iterator[None]:
    """Errors get the name of the file and of the table, once."""
    try:
        yield
    except SfumatoError as error:
        raise InvalidInput(f"{spec.source}: [{'.'.join(path)}]: {error}") from error


def _by_parameters(told: Any, folder: Path) -> FiniteSpace:
    """The constructor of that name, with the keys as its parameters."""
    keys = {name: value for name, value in told if name not in ("kind", "unit")}
    return _in_unit(SPACES[told.kind](**keys), told.unit)


def _sized(told: Any, folder: Path) -> FiniteSpace:
    """A line, a cycle or equally distant secrets, with names of their own where labels are given."""
    keys = {
        name: in_unit(value, told.unit, name) for name, value in told if name not in ("kind", "unit", "labels", "n")
    }
    made = SPACES[told.kind](told.size, **keys)
    if told.labels is not None:
        made = FiniteSpace(told.labels, made.source, "", made.name, made.coordinates)
    return _in_unit(made, told.unit)


def _grid(told: schema.Grid, folder: Path) -> FiniteSpace:
    return SPACES["grid"](*told.shape, metric=told.metric, step=told.step, unit=told.unit)


def _graph(told: schema.Graph, folder: Path) -> FiniteSpace:
    edges: Iterable[Sequence[Any]] = told.edges or []
    if told.file is not None:
        table = read_columns(folder / told.file)
        ends = [column_of(table, told.first), column_of(table, told.second)]
        length = told.length or ("length" if "length" in table.header else None)
        edges = list(zip(*ends, *([] if length is None else [numbers_of(table, length)]), strict=True))
    return SPACES["graph"](edges, labels=told.nodes, unit=told.unit)


def _points(told: schema.Points, folder: Path) -> FiniteSpace:
    coordinates: Any = told.coordinates
    labels = told.labels
    if told.file is not None:
        table = read_columns(folder / told.file)
        coordinates = list(zip(*(numbers_of(table, name) for name in told.columns), strict=True))
        labels = _labels(told, table)
    return SPACES["points"](coordinates, metric=told.metric, labels=labels, unit=told.unit)


def _geo(told: schema.Geo, folder: Path) -> FiniteSpace:
    coordinates: Any = told.coordinates
    labels = told.labels
    if told.file is not None:
        table = read_columns(folder / told.file)
        names = [_column(told.latitude, LATITUDES, table), _column(told.longitude, LONGITUDES, table)]
        coordinates = list(zip(*(numbers_of(table, name) for name in names), strict=True))
        labels = _labels(told, table)
    return SPACES["geo"]([[float(value) for value in row] for row in coordinates], labels=labels)


def _matrix(told: schema.Matrix, folder: Path) -> FiniteSpace:
    if told.file is None:
        distances = told.distances or []
        return FiniteSpace(told.labels or range(len(distances)), distances, told.unit)
    table = read_columns(folder / told.file)
    names, above, entries = labelled_table(table, infinite=True)
    order = in_order(table, above, names, "column")
    return FiniteSpace(told.labels or names, [[row[i] for i in order] for row in entries], told.unit)


BUILDERS: dict[str, Callable[[Any, Path], FiniteSpace]] = {
    "line": _sized,
    "discrete": _sized,
    "cycle": _sized,
    "grid": _grid,
    "hamming": _by_parameters,
    "star": _by_parameters,
    "complete_bipartite": _by_parameters,
    "count_query": _by_parameters,
    "sum_query": _by_parameters,
    "k_count_query": _by_parameters,
    "graph": _graph,
    "points": _points,
    "geo": _geo,
    "matrix": _matrix,
}
"""How each kind of space in a spec is built."""


def _in_unit(space: FiniteSpace, unit: str) -> FiniteSpace:
    return space if not unit else FiniteSpace(space.labels, space.source, unit, space.name, space.coordinates)


def _labels(told: schema.Points | schema.Geo, table: Columns) -> list[Any] | None:
    return told.labels if told.label is None else column_of(table, told.label)


def _column(named: str | None, usual: tuple[str, ...], table: Columns) -> str:
    """The column that was named, or the first with a usual name."""
    if named is not None:
        return named
    found = [name for word in usual for name in table.header if name.lower() == word]
    if not found:
        raise InvalidInput(f"{table.file} has no column {usual[0]!r}: say {usual[0]} = … (it has {_few(table.header)})")
    return found[0]


def _prior(told: schema.Prior, spec: Spec, space: FiniteSpace) -> Prior:
    given = told.weights if told.counts is None else told.counts
    if given is None:
        return Prior.uniform(space)
    if isinstance(given, str):
        given = _prior_column(given, told, spec, space)
    elif isinstance(given, dict):
        labels = _known(given, space.labels, "secret of the space")
        amounts = dict(zip(labels, given.values(), strict=True))
        given = [amounts.get(label, Fraction(0)) for label in space.labels]
    return Prior(space, given) if told.counts is None else Prior.from_counts(given, space)


def _prior_column(name: str, told: schema.Prior, spec: Spec, space: FiniteSpace) -> list[Fraction]:
    """A column in the order of the space: of the space's own file, or of another one."""
    own = getattr(spec.space, "file", None)
    file = told.file or own
    if file is None:
        raise InvalidInput(f"{name!r} names a column, but neither [prior] nor [space] has a file")
    table = read_columns(spec.folder / file)
    values = numbers_of(table, name)
    if told.label is not None:
        return [values[i] for i in in_order(table, column_of(table, told.label), space.labels, "row for")]
    if file == own and spec.space.kind in ("graph", "matrix"):
        raise InvalidInput(f"the rows of {file} are no secrets: name the file of {name!r} with file = …")
    if len(values) != len(space):
        raise InvalidInput(f"{table.file} has {len(values)} rows for {len(space)} secrets")
    return values


def _loss_matrix(told: schema.LossMatrix, folder: Path, space: FiniteSpace) -> Loss:
    if told.file is None:
        return LOSSES["matrix"](space, told.table, told.actions)
    table = read_columns(folder / told.file)
    names, above, entries = labelled_table(table)
    order = in_order(table, above, space.labels, "column for")
    texts = {text_of(label): label for label in space.labels}
    actions = [texts.get(name, name) for name in names]  # an action that is a secret keeps the secret's own label
    return LOSSES["matrix"](space, [[row[i] for i in order] for row in entries], actions)


def _known(asked: Iterable[Any], known: Sequence[Any], what: str) -> tuple[Any, ...]:
    """Labels as the space has them; a file or a key of TOML can only spell them as text."""
    own = set(known)
    texts = {text_of(label): label for label in known}
    found = []
    for label in asked:
        if label in own:
            found.append(label)
        elif text_of(label) in texts:
            found.append(texts[text_of(label)])
        else:
            hint = nearest(text_of(label), texts) if len(texts) < 20 else ""
            raise InvalidInput(f"{label!r} is no {what}{hint}")
    return tuple(found)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
