"""A question as Python values: where secrets live, how likely they are, what is at stake, what is promised.

Which kind of question it is, is its family (:mod:`sfumato.specs.families`): whoever wants to know what that means for
a search, a word or a figure asks the family.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.channels import Prior
from sfumato.errors import InvalidInput, SfumatoError
from sfumato.privacy import PrivacyType, predicates
from sfumato.privacy.promise import part_of, promise
from sfumato.spaces import FiniteSpace
from sfumato.spaces.box import Box
from sfumato.spaces.lengths import in_unit
from sfumato.specs import schema
from sfumato.specs.spec import Spec

if TYPE_CHECKING:
    from sfumato.specs.families.family import Family


@dataclass(frozen=True, eq=False)
class Question:
    """What a spec stands for.

    Parameters
    ----------
    family
        Which kind of question it is.
    space, loss
        A list of secrets with a loss for each action, or a box of points with a distance.
    privacy
        None where no ratio is bounded, because nothing is promised or only something about events, which is ``under``
        then.
    outputs
        None where all actions may come.
    note
        What a reader of the spec's files found worth saying, such as how many points lie in the box.
    """

    family: Family
    space: Any
    prior: Prior
    loss: Any
    outputs: tuple[Any, ...] | None
    objective: Any
    privacy: PrivacyType | None
    under: Any
    tolerance: float
    time_limit: float | None
    solver: str
    note: str = ""

    @property
    def loss_on_outputs(self) -> Any:
        """The loss with no other actions than the outputs."""
        return self.family.loss_on_outputs(self)

    @property
    def searched_loss(self) -> Any:
        """The loss that a search over several promises is given: that of the outputs; none where nobody acts."""
        return None if self.family.stakes(self) is None else self.loss_on_outputs


@contextmanager
def naming_file(spec: Spec, *path: str) -> Iterator[None]:
    """Errors get the name of the file and of the table, once."""
    try:
        yield
    except SfumatoError as error:
        raise InvalidInput(f"{spec.source}: [{'.'.join(path)}]: {error}") from error


def _parts(spec: Spec) -> int:
    """How many releases keep the promise together: one, unless it is about all rows of a person."""
    return 1 if spec.release is None else spec.release.parts


def privacy_of(spec: Spec, space: FiniteSpace | Box, *, whole: bool = False) -> PrivacyType:
    """What is promised of each row; ``whole``: of all rows of a person, where the promise is about these."""
    if spec.privacy is None:
        raise InvalidInput(f"{spec.source}: table [privacy] is missing: say epsilon = … or alpha = …")
    with naming_file(spec, "privacy"):
        return PrivacyType(space, **_amount(spec.privacy, space.unit, 1 if whole else _parts(spec)))


def promise_of(spec: Spec, space: FiniteSpace | Box) -> dict[str, Any]:
    """What a question says is promised: about ratios, or about events and between which secrets."""
    given = spec.privacy
    if given is None:
        return {"privacy": None, "under": ()}
    if given.delta is None:
        return {"privacy": privacy_of(spec, space), "under": ()}
    parts = _parts(spec)
    with naming_file(spec, "privacy"):
        promised = predicates.epsilon_delta(**_amount(given, space.unit, parts), delta=given.delta / parts)
        return {"privacy": None, "under": (promised, space if given.neighbours == "adjacent" else None)}


def effort_of(spec: Spec, usual: float) -> dict[str, Any]:
    """What a question says of tolerance, time and solver; the usual tolerance where it does not say one."""
    solve = spec.solve
    return {
        "tolerance": float(solve.tolerance) if "tolerance" in solve.model_fields_set else usual,
        "time_limit": None if solve.time_limit is None else float(solve.time_limit),
        "solver": solve.solver,
    }


def _amount(given: schema.PrivacySpec, unit: str, parts: int) -> dict[str, Any]:
    """ε or α of each part; that odds double at a distance is ε = ln 2 over it."""
    if given.double_at is None:
        return part_of(promise(given.epsilon, given.alpha), parts)._asdict()
    apart = in_unit(given.double_at, unit, "double_at")
    if apart <= 0:
        raise InvalidInput(f"double_at must be positive, found {given.double_at}")
    return part_of(promise(f"ln(2)*{apart.denominator}/{apart.numerator}", None), parts)._asdict()
