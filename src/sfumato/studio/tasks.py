"""What a worker does for the page: each task takes values and gives JSON, and perhaps a design to be kept."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sfumato.design.result import Design
from sfumato.design.solvers import Trail
from sfumato.measures import prior_loss
from sfumato.specs.setup import Setup, privacy_of, setup
from sfumato.specs.spec import spec_from_values, to_toml
from sfumato.specs.words import amount, meaning, promised
from sfumato.studio import answers
from sfumato.studio.desk import Desk, Result, Say, saved
from sfumato.studio.requests import key_of, question
from sfumato.studio.uploads import cities, points
from sfumato.studio.views import place_of, table_of

_QUICK_GAP = 1e-2  # while somebody drags: the picture is the same


def do(task: str, values: dict[str, Any], kept: bytes | None, say: Say, stopping: Callable[[], bool]
       ) -> tuple[dict[str, Any], bytes | None]:  # fmt: skip
    """Do a task; ``kept`` is the design of the same question, if it was made before."""
    if task == "warm":
        return _warm()
    if task in _WITHOUT_A_SPEC:
        return _WITHOUT_A_SPEC[task](values), None
    desk = _desk(values["spec"], task, say, stopping)
    known: Design | None = None if kept is None else pickle.loads(kept)
    result, design = TASKS[task](desk, values, known)
    return result, None if design is None or design is known else pickle.dumps(design)


def _desk(values: dict[str, Any], task: str, say: Say, stopping: Callable[[], bool]) -> Desk:
    spec = question(values, task)
    split = not (values.get("privacy") or {}).keys() & {"per", "delta"}
    still = {name: part for name, part in values.items() if not (split and name in ("privacy", "solve"))}
    setting, trail = _place(key_of(still))
    plain = spec.privacy is not None and spec.privacy.delta is None
    return Desk(spec, setting, privacy_of(spec, setting.space) if plain else None, trail, say, stopping)


@lru_cache(maxsize=8)
def _place(key: str) -> tuple[Setup, Trail]:
    """Space, prior and loss, and the trail of designs on them: what does not change while ε is dragged."""
    return setup(spec_from_values(json.loads(key))), Trail()


# ----------------------------------------------------------------- tasks


def _look(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """The space and the prior, before anything is designed."""
    return {"place": place_of(desk.setup.space, desk.setup.prior)}, None


def _design(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    quick = values["quick"]
    best = known or desk.design(_QUICK_GAP if quick else None)
    return described(best, desk), None if quick else best


def described(best: Design, desk: Desk) -> dict[str, Any]:
    """A design with everything that the page shows of it."""
    space = desk.setup.space
    mechanism = best.mechanism
    return {
        "place": place_of(space, desk.setup.prior),
        **table_of(mechanism, space),
        "loss": float(best.loss),
        "bound": float(best.bound),
        "gap": best.gap,
        "exact": str(best.loss) if best.gap == 0 and len(str(best.loss)) <= 24 else "",
        "method": best.method,
        "seconds": round(best.seconds["total"], 4),
        "rate": mechanism.privacy.rate,
        "unit": space.unit,
        "loss_name": desk.setup.loss.name,
        "blind": _blind(desk),
        "promise": promised(mechanism.privacy) if not mechanism.events else "",
        "meaning": f"{amount(best.loss, desk.setup)}{meaning(desk.setup)}",
        "proof": str(mechanism.proof),
        "digest": mechanism.proof.digest,
    }


def _blind(desk: Desk) -> float | None:
    if desk.setup.objective.criterion != "expected":
        return None
    return float(prior_loss(desk.setup.prior.to_floats(), desk.setup.loss_on_outputs))


def _spec(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    return {"text": to_toml(desk.spec), "name": "spec.toml"}, None


def _mechanism(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    best = known or desk.design()
    return saved(best.mechanism, "mechanism.sfm"), best


def _warm() -> tuple[dict[str, Any], None]:
    """A small design of the kind people drag: what is compiled is loaded by it."""
    counts = [1 + (7 * k) % 11 for k in range(36)]
    values = {"space": {"kind": "grid", "shape": [6, 6]}, "privacy": {"epsilon": 1}, "prior": {"counts": counts}}
    for epsilon in (1, "1.1"):
        desk = _desk({**values, "privacy": {"epsilon": epsilon}}, "design", lambda content: None, lambda: False)
        described(desk.design(_QUICK_GAP), desk)
    return {}, None


TASKS: dict[str, Callable[[Desk, dict[str, Any], Design | None], Result]] = {
    "look": _look,
    "design": _design,
    "curve": answers.curve,
    "compare": answers.compare,
    "kernels": answers.kernels,
    "verdicts": answers.verdicts,
    "audit": answers.audit,
    "mechanism": _mechanism,
    "report": answers.report,
    "spec": _spec,
}
"""Everything about a spec that the page may ask."""

_WITHOUT_A_SPEC: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "points": lambda values: points(values["text"], values["name"]),
    "cities": lambda values: cities(values["country"], values["most"]),
}
