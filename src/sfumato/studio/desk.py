"""The desk of a task: the question, what it stands for, whom to tell, when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from typing import Any

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


@dataclass(eq=False)
class Desk:
    """What a task works with; ``known`` is the design of the question, once it was made."""

    spec: Spec
    setup: Setup
    privacy: PrivacyType | None
    trail: Trail
    say: Say
    stopping: Callable[[], bool]
    known: Design | None = None

    def best(self) -> Design:
        """The design of the question."""
        if self.known is None:
            self.known = self.design()
        return self.known

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
        last = perf_counter()

        def tell(state: Any) -> None:
            nonlocal last
            if self.stopping():
                raise KeyboardInterrupt  # which a solver takes as a wish to return what it has
            now = perf_counter()
            if now - last >= _TALK:
                last = now
                self.say({"doing": before, **_standing(state)})

        return tell


def _standing(state: Any) -> dict[str, float]:
    """Loss, bound and gap, where a solver tells them."""
    if not all(hasattr(state, name) for name in ("value", "bound", "gap")):
        return {}
    numbers = {"loss": float(state.value), "bound": float(state.bound), "gap": float(state.gap)}
    return {name: value for name, value in numbers.items() if isfinite(value)}
