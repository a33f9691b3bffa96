"""The desk of a task: the question, what it stands for, whom to tell, when to stop; and a mechanism as a file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from typing import Any

from sfumato.certify import Mechanism
from sfumato.certify.certificate import certificate_of
from sfumato.certify.file import to_bytes
from sfumato.design.optimal import Effort, best_of
from sfumato.design.problem import problem
from sfumato.design.result import Design
from sfumato.design.solvers import Trail
from sfumato.errors import InvalidInput
from sfumato.privacy import PrivacyType
from sfumato.specs.setup import Setup, under_of
from sfumato.specs.spec import Spec

_TALK = 0.05  # seconds between two words about progress

Say = Callable[[dict[str, Any]], None]
Result = tuple[dict[str, Any], Design | None]
"""What a task gives: JSON for the page, and perhaps a design to be kept."""


@dataclass(frozen=True, eq=False)
class Desk:
    """What a task works with: the question, what it stands for, whom to tell, and when to stop."""

    spec: Spec
    setup: Setup
    privacy: PrivacyType | None
    trail: Trail
    say: Say
    stopping: Callable[[], bool]

    def promise(self) -> PrivacyType:
        """The promise, where there must be one."""
        if self.privacy is None:
            raise InvalidInput("the promise is missing: choose ε")
        return self.privacy

    def design(self, tolerance: float | None = None, privacy: PrivacyType | None = None, before: str = "") -> Design:
        """The best mechanism; what it leaves is where the next design on the same space starts."""
        under = under_of(self.spec, self.setup.space)
        promise = None if under else privacy or self.promise()
        loss = self.setup.loss_on_outputs
        question = problem(self.setup.prior, loss, promise, None, self.setup.objective, under)
        limit = self.spec.solve.time_limit
        effort = Effort(
            tolerance or float(self.spec.solve.tolerance), None if limit is None else float(limit),
            self.spec.solve.solver, self._teller(before), self.trail,
        )  # fmt: skip
        return best_of(question, effort)

    def _teller(self, before: str) -> Callable[[Any], None]:
        started = last = perf_counter()

        def tell(state: Any) -> None:
            nonlocal last
            if self.stopping():
                raise KeyboardInterrupt  # which a solver takes as a wish to return what it has
            now = perf_counter()
            if now - last >= _TALK:
                last = now
                self.say({"doing": before, "seconds": round(now - started, 1), **_standing(state)})

        return tell


def _standing(state: Any) -> dict[str, Any]:
    if not all(hasattr(state, name) for name in ("iteration", "value", "bound", "gap")):
        return {"words": str(state)}
    numbers = {"iteration": int(state.iteration), "loss": float(state.value), "bound": float(state.bound),
               "gap": float(state.gap)}  # fmt: skip
    words = {"words": state.stage} if getattr(state, "stage", "") else {}
    return words | {name: value for name, value in numbers.items() if isfinite(value)}


def saved(mechanism: Mechanism, name: str) -> dict[str, Any]:
    """The file of a mechanism, as the command line would write it."""
    data = to_bytes(certificate_of(mechanism))
    return {"file": b64encode(data).decode(), "name": name, "sha256": data[-32:].hex()}
