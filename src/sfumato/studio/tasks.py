"""What a worker does for the page: each task takes values and gives JSON, and perhaps a design to be kept."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from time import perf_counter
from typing import Any

from sfumato.certify import Mechanism
from sfumato.design.optimal import Design, Effort, best_of
from sfumato.design.problem import problem
from sfumato.design.solvers import Trail
from sfumato.errors import InvalidInput
from sfumato.privacy import PrivacyType
from sfumato.specs.setup import Setup, privacy_of, setup, under_of
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.specs.words import amount, meaning, promised
from sfumato.studio.requests import key_of, question
from sfumato.studio.views import place_of, table_of

__all__ = ["TASKS", "Desk", "do"]

_QUICK_GAP = 1e-2  # while somebody drags: the picture is the same
_TALK = 0.05  # seconds between two words about progress

Say = Callable[[dict[str, Any]], None]


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
        asked = problem(self.setup.prior, loss, promise, None, self.setup.objective, under)
        limit = self.spec.solve.time_limit
        effort = Effort(
            tolerance or float(self.spec.solve.tolerance), None if limit is None else float(limit),
            self.spec.solve.solver, self._teller(before), self.trail,
        )  # fmt: skip
        return best_of(asked, effort)

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


def do(task: str, values: dict[str, Any], kept: bytes | None, say: Say, stopping: Callable[[], bool]
       ) -> tuple[dict[str, Any], bytes | None]:  # fmt: skip
    """Do a task; ``kept`` is the design of the same question, if it was made before."""
    if task == "warm":
        return _warm()
    if task in _WITHOUT_A_SPEC:
        return _WITHOUT_A_SPEC[task](values), None
    desk = _desk(values["spec"], task, say, stopping)
    known: Design | None = None if kept is None else pickle.loads(kept)
    result, made = TASKS[task](desk, values, known)
    return result, None if made is None or made is known else pickle.dumps(made)


def _desk(values: dict[str, Any], task: str, say: Say, stopping: Callable[[], bool]) -> Desk:
    spec = question(values, task)
    split = not (values.get("privacy") or {}).keys() & {"per", "delta"}
    still = {name: part for name, part in values.items() if not (split and name in ("privacy", "solve"))}
    made, trail = _place(key_of(still))
    plain = spec.privacy is not None and spec.privacy.delta is None
    return Desk(spec, made, privacy_of(spec, made.space) if plain else None, trail, say, stopping)


@lru_cache(maxsize=8)
def _place(key: str) -> tuple[Setup, Trail]:
    """Space, prior and loss, and the trail of designs on them: what does not change while ε is dragged."""
    return setup(spec_from_values(json.loads(key))), Trail()


def _standing(state: Any) -> dict[str, Any]:
    if not all(hasattr(state, name) for name in ("iteration", "value", "bound", "gap")):
        return {"words": str(state)}
    numbers = {"iteration": int(state.iteration), "loss": float(state.value), "bound": float(state.bound),
               "gap": float(state.gap)}  # fmt: skip
    words = {"words": state.stage} if getattr(state, "stage", "") else {}
    return words | {name: value for name, value in numbers.items() if isfinite(value)}


# ----------------------------------------------------------------- tasks


def _look(desk: Desk, values: dict[str, Any], known: Design | None) -> tuple[dict[str, Any], None]:
    """The space and the prior, before anything is designed."""
    return {"place": place_of(desk.setup.space, desk.setup.prior)}, None


def _design(desk: Desk, values: dict[str, Any], known: Design | None) -> tuple[dict[str, Any], Design | None]:
    quick = values["quick"]
    made = known or desk.design(_QUICK_GAP if quick else None)
    return described(made, desk), None if quick else made


def described(made: Design, desk: Desk) -> dict[str, Any]:
    """A design with everything that the page shows of it."""
    space = desk.setup.space
    mechanism = made.mechanism
    return {
        "place": place_of(space, desk.setup.prior),
        **table_of(mechanism, space),
        "loss": float(made.loss),
        "bound": float(made.bound),
        "gap": made.gap,
        "exact": str(made.loss) if made.gap == 0 and len(str(made.loss)) <= 24 else "",
        "method": made.method,
        "seconds": round(made.seconds["total"], 4),
        "rate": mechanism.privacy.rate,
        "unit": space.unit,
        "loss_name": desk.setup.loss.name,
        "blind": _blind(desk),
        "promise": promised(mechanism.privacy) if not mechanism.events else "",
        "meaning": f"{amount(made.loss, desk.setup)}{meaning(desk.setup)}",
        "proof": str(mechanism.proof),
        "digest": mechanism.proof.digest,
    }


def _blind(desk: Desk) -> float | None:
    from sfumato.measures import prior_loss

    if desk.setup.objective.criterion != "expected":
        return None
    return float(prior_loss(desk.setup.prior.to_floats(), desk.setup.loss_on_outputs))


def _spec(desk: Desk, values: dict[str, Any], known: Design | None) -> tuple[dict[str, Any], None]:
    from sfumato.specs.spec import to_toml

    return {"text": to_toml(desk.spec), "name": "spec.toml"}, None


def _mechanism(desk: Desk, values: dict[str, Any], known: Design | None) -> tuple[dict[str, Any], Design]:
    made = known or desk.design()
    return saved(made.mechanism, "mechanism.sfm"), made


def saved(mechanism: Mechanism, name: str) -> dict[str, Any]:
    """The file of a mechanism, as the command line would write it."""
    from base64 import b64encode

    from sfumato.certify.certificate import certificate_of
    from sfumato.certify.file import to_bytes

    data = to_bytes(certificate_of(mechanism))
    return {"file": b64encode(data).decode(), "name": name, "sha256": data[-32:].hex()}


def _warm() -> tuple[dict[str, Any], None]:
    """A small design of the kind people drag: what is compiled is loaded by it."""
    counts = [1 + (7 * k) % 11 for k in range(36)]
    values = {"space": {"kind": "grid", "shape": [6, 6]}, "privacy": {"epsilon": 1}, "prior": {"counts": counts}}
    for epsilon in (1, "1.1"):
        desk = _desk({**values, "privacy": {"epsilon": epsilon}}, "design", lambda content: None, lambda: False)
        described(desk.design(_QUICK_GAP), desk)
    return {}, None


def _points(values: dict[str, Any]) -> dict[str, Any]:
    from sfumato.studio.uploads import points

    return points(values["text"], values["name"])


def _cities(values: dict[str, Any]) -> dict[str, Any]:
    from sfumato.studio.uploads import cities

    return cities(values["country"], values["most"])


def _later(name: str) -> Callable[..., Any]:
    """A task whose rooms are loaded when it is asked for."""

    def task(desk: Desk, values: dict[str, Any], known: Design | None) -> Any:
        from sfumato.studio import answers

        return getattr(answers, name)(desk, values, known)

    return task


TASKS: dict[str, Callable[[Desk, dict[str, Any], Design | None], tuple[dict[str, Any], Design | None]]] = {
    "look": _look,
    "design": _design,
    "curve": _later("curve"),
    "compare": _later("compare"),
    "kernels": _later("kernels"),
    "verdicts": _later("verdicts"),
    "audit": _later("audit"),
    "mechanism": _mechanism,
    "report": _later("report"),
    "spec": _spec,
}
"""Everything about a spec that the page may ask."""

_WITHOUT_A_SPEC: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"points": _points, "cities": _cities}
