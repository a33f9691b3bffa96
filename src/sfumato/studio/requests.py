"""What a page may ask: a spec without files, of bounded size, and what each task needs beside it.

A state of the page is a spec. Files are refused in it: a link from somewhere else could name any file of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.boxes import BOXES
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.studio.boxes import cells_of
from sfumato.studio.guard import LARGEST_BODY

MOST_SECRETS = 1024
"""Secrets that are drawn and designed for; tasks that take longer are for fewer."""

_MOST_POINTS = 40  # values of ε on a curve
_LONGEST_NAME = 200


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SpecRequest(_Request):
    """A spec, as tables."""

    spec: dict[str, Any]


class DesignRequest(SpecRequest):
    """``quick`` asks for a looser answer, while somebody drags."""

    quick: bool = False


class CurveRequest(SpecRequest):
    """Values of ε, as texts or numbers."""

    epsilons: Annotated[list[str | float], Field(min_length=1, max_length=_MOST_POINTS)]


class KernelsRequest(SpecRequest):
    """Which kernel is drawn beside the optimum."""

    kernel: Annotated[int, Field(ge=0)] = 0


class DensityRequest(SpecRequest):
    """At the centre of which cell of a box."""

    cell: Annotated[int, Field(ge=0)] = 0


class VerdictsRequest(SpecRequest):
    """About the optimal mechanism, or about a known one by its name."""

    mechanism: Annotated[str, Field(max_length=_LONGEST_NAME)] = ""


class AuditRequest(SpecRequest):
    """A matrix as the text of a CSV file; ``normalise`` divides rows by their sums, ``repaired`` asks for the repaired
    mechanism as a file.
    """

    matrix: Annotated[str, Field(min_length=1, max_length=LARGEST_BODY)]
    name: Annotated[str, Field(max_length=_LONGEST_NAME)] = "the matrix"
    repaired: bool = False
    normalise: bool = False


class PointsRequest(_Request):
    """Points with counts, as the text of a CSV file; ``columns`` chooses them by what they are."""

    text: Annotated[str, Field(min_length=1, max_length=LARGEST_BODY)]
    name: Annotated[str, Field(max_length=_LONGEST_NAME)] = "the file"
    columns: Annotated[dict[str, Annotated[str, Field(max_length=_LONGEST_NAME)]], Field(max_length=8)] = {}


class CitiesRequest(_Request):
    """The largest cities of a country."""

    country: Annotated[str, Field(min_length=2, max_length=2)]
    most: Annotated[int, Field(ge=3, le=200)] = 40


@dataclass(frozen=True)
class Task:
    """What a task is requested with, how long it may take, how many secrets it takes on, and how a refusal calls it.

    After ``seconds`` its worker is ended. Beyond ``most`` secrets, the command line and Python have no such limit. A
    task that ``designs`` begins with the design of its spec, as it was made before.
    """

    request: type[_Request]
    seconds: float
    most: int = MOST_SECRETS
    words: str = ""
    designs: bool = True


TASKS = {
    "look": Task(SpecRequest, 20.0, words="a picture", designs=False),
    "design": Task(DesignRequest, 900.0, words="a design"),
    "curve": Task(CurveRequest, 900.0, 400, "a curve", designs=False),
    "compare": Task(SpecRequest, 120.0, 256, "a comparison"),
    "kernels": Task(KernelsRequest, 60.0, 6, "a list of kernels"),
    "verdicts": Task(VerdictsRequest, 120.0, 256, "verdicts"),
    "audit": Task(AuditRequest, 300.0, 400, "an audit"),
    "density": Task(DensityRequest, 900.0, words="a density"),
    "mechanism": Task(SpecRequest, 900.0),
    "report": Task(SpecRequest, 900.0),
    "page": Task(SpecRequest, 900.0),
    "spec": Task(SpecRequest, 20.0, designs=False),
    "points": Task(PointsRequest, 20.0, designs=False),
    "cities": Task(CitiesRequest, 20.0, designs=False),
}
"""Everything that a page may ask."""


def checked(task: str, values: Any) -> dict[str, Any]:
    """The parameters of a task, checked; whatever is wrong with them is one sentence."""
    try:
        request = TASKS[task].request.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        raise InvalidInput(f"{where}: {first['msg']}") from None
    return request.model_dump()


def checked_spec(values: dict[str, Any], task: str) -> Spec:
    """The spec of a state, if it names no files and is not too large for the task.

    Examples
    --------
    >>> checked_spec({"space": {"kind": "graph", "file": "/etc/passwd"}}, "design")
    Traceback (most recent call last):
        ...
    sfumato.errors.NotSupported: files in a state of the studio; supported: coordinates, ...
    """
    if _names_a_file(values):
        raise NotSupported("files in a state of the studio", ["coordinates, edges and counts in the state itself"])
    spec = spec_from_values(values)
    limit, on_box = TASKS[task], spec.space.kind in BOXES
    if not on_box and spec.space.kind not in _SIZES:
        raise NotSupported(
            f"a space of kind {spec.space.kind!r} in the studio", ["`sfumato design` and Python, which take them all"]
        )
    # a space is refused before it is built
    size = cells_of(spec, task, limit.words) if on_box else _SIZES[spec.space.kind](spec.space)
    if task == "density" and not on_box:
        raise NotSupported("a density at a point of a list of secrets", ["a space of kind box or earth_box"])
    most = MOST_SECRETS if on_box else limit.most  # how long a design on a box takes is not a matter of its cells
    if size > most:
        raise NotSupported(
            f"{limit.words or task} on {size:,} {'cells' if on_box else 'secrets'} in the studio",
            [f"at most {most:,} here; `sfumato design` and Python have no such limit"],
        )
    return spec


def key_of(values: dict[str, Any]) -> str:
    """One text for equal specs."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)


def _names_a_file(values: Any) -> bool:
    if isinstance(values, dict):
        return any(key == "file" or _names_a_file(part) for key, part in values.items())
    return isinstance(values, list) and any(map(_names_a_file, values))


def _nodes(space: Any) -> int:
    ends = {json.dumps(end, default=str) for edge in space.edges or () for end in edge[:2]}
    return max(len(ends), len(space.nodes or ()))


def _power(base: int, exponent: int) -> int:
    """base^exponent, or something beyond every limit before the number gets long."""
    return base**exponent if exponent * base.bit_length() < 64 else 2**63


_SIZES: dict[str, Callable[[Any], int]] = {
    "line": lambda space: space.size,
    "discrete": lambda space: space.size,
    "cycle": lambda space: space.size,
    "grid": lambda space: prod(space.shape) if len(space.shape) < 20 else 2**63,
    "hamming": lambda space: _power(space.symbols, space.length),
    "star": lambda space: space.leaves + 1,
    "complete_bipartite": lambda space: space.a + space.b,
    "count_query": lambda space: space.individuals + 1,
    "sum_query": lambda space: space.individuals * space.largest + 1,
    "k_count_query": lambda space: _power(space.individuals + 1, space.k),  # at most: so many answers for each count
    "graph": _nodes,
    "points": lambda space: len(space.coordinates or ()),
    "geo": lambda space: len(space.coordinates or ()),
    "matrix": lambda space: len(space.distances or ()),
}
"""How many secrets a table stands for, before anything is built."""
