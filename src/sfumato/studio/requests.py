"""What a page may ask: a spec without files, of bounded size, and what each task needs beside it.

A state of the page is a spec. Files are refused in it: a link from somewhere else could name any file of this machine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.families import family_of
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.studio.families import MOST_SECRETS, VIEWS
from sfumato.studio.guard import LARGEST_BODY

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


class CalibrateRequest(SpecRequest):
    """A loss that is to be reached, or a variance, as text: a number, or a length with its unit."""

    target: Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]


class ReleaseRequest(SpecRequest):
    """Rows as the text of a CSV file, and the column that is released where its values do not say it."""

    text: Annotated[str, Field(min_length=1, max_length=LARGEST_BODY)]
    name: Annotated[str, Field(max_length=_LONGEST_NAME)] = "the file"
    column: Annotated[str, Field(max_length=_LONGEST_NAME)] = ""


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
    "calibrate": Task(CalibrateRequest, 900.0, 400, "a search for ε", designs=False),
    "release": Task(ReleaseRequest, 900.0, words="a release"),
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
    sfumato.errors.NotSupported: files in a state of the studio are not supported; coordinates, ...
    """
    if _names_a_file(values):
        raise NotSupported("files in a state of the studio", ["coordinates, edges and counts in the state itself"])
    spec = spec_from_values(values)
    limit, view = TASKS[task], VIEWS[family_of(spec).name]
    if not view.takes(task):
        raise NotSupported(f"{limit.words or task} {view.about} in the studio", [view.instead])
    size = view.size(spec)  # a space is refused before it is built
    most = limit.most if view.most is None else view.most
    if size > most:
        raise NotSupported(
            f"{limit.words or task} on {size:,} {view.many} in the studio",
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
