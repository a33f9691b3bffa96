"""What a worker does for the page: each task takes a desk and values, and gives JSON."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite
from time import perf_counter
from typing import Any

from sfumato.certify import Mechanism
from sfumato.certify.file import file_of
from sfumato.channels import Prior
from sfumato.client.page import visitors_page
from sfumato.design import Curve
from sfumato.design.calibration import calibrate
from sfumato.design.comparison_rows import COMPARED_BY
from sfumato.design.result import Design
from sfumato.design.solvers import Trail
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import bounds_text, float_above, float_below, floats, text_above, told_apart
from sfumato.privacy import PrivacyType, has_tight_constraints, is_regular, kernels, satisfies
from sfumato.privacy.promise import rate
from sfumato.report.audit import audit
from sfumato.report.audit_matrix import TOLERANCE
from sfumato.report.curve import curve_figure
from sfumato.report.html import label
from sfumato.report.page import facts_about, page_of
from sfumato.report.simplex import simplex
from sfumato.specs.families import as_question, best_for
from sfumato.specs.question import Question, effort_of, promise_of
from sfumato.specs.spec import Spec, spec_from_values, to_toml
from sfumato.specs.words import per
from sfumato.studio.families import VIEWS, View
from sfumato.studio.requests import TASKS, checked_spec, key_of
from sfumato.studio.uploads import cities, point_tables, released, uploaded
from sfumato.studio.views import figure_of, packed_floats, point_figures
from sfumato.theory import is_universally_optimal
from sfumato.verdict import Verdict
from sfumato.watch import Watch

_TALK = 0.05  # seconds between two words about progress
_MOST_ENTRIES = 2**18  # of a table that is sent to be drawn
_MOST_KERNELS = 120  # listed one by one; all are counted
_MANY_SECRETS = 10  # beyond, a search for a better mechanism is short
_LONGEST_FRACTION = 16  # letters
_OPTIMUM, _NEARLY = "the optimum", 0.01  # A design is called so up to this gap.
_SAME = Fraction(1, 10**8)  # of a loss: a difference that is not worth a word
_ANY_SUM = Fraction(1, 2)  # by which the sum of a row may miss 1 where somebody wants it divided


Say = Callable[[dict[str, Any]], None]


class _AskedWatch(Watch):
    """A watch that is over when somebody asks to stop: long stages of a design tell of no progress, and look at it."""

    def __init__(self, limit: float | None, stopping: Callable[[], bool]) -> None:
        self._stopping, self._over = stopping, False
        super().__init__(limit)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, or somebody asks for that."""
        return self._over or self._stopping()

    @stopped.setter
    def stopped(self, now: bool) -> None:
        self._over = now


@dataclass(eq=False)
class Desk:
    """What a task works with; ``known`` is the design of the question, once it was made."""

    spec: Spec
    question: Question
    trail: Trail
    say: Say
    stopping: Callable[[], bool]
    known: Design | None = None

    @property
    def view(self) -> View:
        """How the page shows questions of this kind."""
        return VIEWS[self.question.family.name]

    def best(self) -> Design:
        """The design of the question."""
        if self.known is None:
            self.known = self.design()
        return self.known

    def promise(self) -> PrivacyType:
        """The promise, where there must be one."""
        if self.question.privacy is None:
            raise InvalidInput("the promise is missing: choose ε")
        return self.question.privacy

    def design(self, tolerance: float | None = None, privacy: PrivacyType | None = None, before: str = "") -> Design:
        """The best mechanism; what it leaves is where the next design on the same list starts."""
        if not self.question.under and privacy is None:
            self.promise()
        watch = _AskedWatch(self.question.time_limit, self.stopping)
        return best_for(
            self.question, privacy=privacy, tolerance=tolerance, time_limit=watch, progress=self.teller(before),
            trail=self.trail,
        )  # fmt: skip

    def teller(self, before: str) -> Callable[[Any], None]:
        """What tells the page of a search, a few times a second, and ends it where somebody asks for that."""
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


def do(task: str, values: dict[str, Any], kept: bytes | None, say: Say, stopping: Callable[[], bool]
       ) -> tuple[dict[str, Any], bytes | None]:  # fmt: skip
    """Do a task; ``kept`` is the design of the same question, if it was made before."""
    if task == "warm":
        return _warm()
    if task in _WITHOUT_A_SPEC:
        return _WITHOUT_A_SPEC[task](values), None
    desk = _desk(values["spec"], task, say, stopping)
    desk.known = known = None if kept is None else pickle.loads(kept)
    result = _ANSWERS[task](desk, values)
    return result, None if desk.known is known else pickle.dumps(desk.known)


def _desk(values: dict[str, Any], task: str, say: Say, stopping: Callable[[], bool]) -> Desk:
    spec = checked_spec(values, task)
    split = not (values.get("privacy") or {}).keys() & {"per", "delta"}
    still = {name: part for name, part in values.items() if not (split and name in ("privacy", "solve"))}
    place, trail = _place(key_of(still))
    asked = replace(place, **promise_of(spec, place.space), **effort_of(spec, place.family.tolerance))
    return Desk(spec, asked, trail, say, stopping)


@lru_cache(maxsize=8)
def _place(key: str) -> tuple[Question, Trail]:
    """Space, prior and loss, and the trail of designs on them: what does not change while ε is dragged."""
    return as_question(spec_from_values(json.loads(key))), Trail()


# ----------------------------------------------------------------- tasks


def _design(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    quick = values["quick"] and desk.known is None  # and then it is not kept
    return _described(desk.design(desk.question.family.quick_gap) if quick else desk.best(), desk)


def _described(best: Design, desk: Desk) -> dict[str, Any]:
    """A design with everything that the page shows of it."""
    question, mechanism = desk.question, best.mechanism
    return {
        "loss_name": question.loss.name, **desk.view.shown(best, question), **_look(desk), "lost": desk.view.lost,
        "tasks": [task for task in TASKS if desk.view.takes(task)], "loss": float_above(best.loss),
        "bound": float_below(best.bound), "gap": best.gap,
        "method": best.method, "seconds": round(best.seconds["total"], 4), "rate": mechanism.privacy.rate,
        "unit": question.space.unit, "digest": mechanism.proof.digest,
    }  # fmt: skip


def _density(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """What is told at a point, on a fine raster, as the report draws it."""
    mechanism: Any = desk.best().mechanism
    desk.say({"doing": "drawing"})
    return point_figures(mechanism, desk.question.prior, values["cell"])


def _look(desk: Desk, values: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"place": desk.view.place(desk.question.space, desk.question.prior)}


def _saved(mechanism: Mechanism, name: str) -> dict[str, Any]:
    """The file of a mechanism, as the command line would write it."""
    data = file_of(mechanism)
    return {"file": b64encode(data).decode(), "name": name, "sha256": data[-32:].hex()}


def _warm() -> tuple[dict[str, Any], None]:
    """A small design of the kind people drag: what is compiled is loaded by it."""
    counts = [1 + (7 * k) % 11 for k in range(36)]
    values = {"space": {"kind": "grid", "shape": [6, 6]}, "privacy": {"epsilon": 1}, "prior": {"counts": counts}}
    for epsilon in (1, "1.1"):
        desk = _desk({**values, "privacy": {"epsilon": epsilon}}, "design", lambda content: None, lambda: False)
        _described(desk.design(desk.question.family.quick_gap), desk)
    return {}, None


def _curve(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """The least loss for several ε, drawn as far as it is known after each point."""
    space = desk.question.space
    gap = desk.question.family.curve_gap
    epsilons = sorted({_epsilon(value) for value in values["epsilons"]})
    points: list[tuple[Fraction, Design]] = []
    for number, epsilon in enumerate(epsilons, 1):
        if desk.stopping():
            break
        best = desk.design(gap, PrivacyType(space, epsilon=epsilon), f"ε {number} of {len(epsilons)}")
        points.append((epsilon, best))
        if number < len(epsilons):
            desk.say({"doing": f"ε {number} of {len(epsilons)}", **_drawn(points)})
    if not points:
        raise InvalidInput("stopped before the first point of the curve")
    return _drawn(points)


def _epsilon(value: Any) -> Fraction:
    try:
        epsilon = rate(value)
    except InvalidInput as error:
        raise InvalidInput(f"ε on a curve: {error}") from None
    if epsilon <= 0:
        raise InvalidInput("ε on a curve must be positive")
    return epsilon


def _drawn(points: list[tuple[Fraction, Design]]) -> dict[str, Any]:
    epsilons, designs = zip(*points, strict=True)
    told = [
        {"epsilon": float(e), "loss": float_above(m.loss), "bound": float_below(m.bound), "gap": m.gap}
        for e, m in points
    ]
    return {"figure": figure_of(curve_figure(Curve(epsilons, designs))), "points": told}


def _calibrate(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """The smallest ε with which no more is lost than a target, or estimates have no more variance."""
    asked = desk.question
    found = calibrate(
        asked.prior, asked.searched_loss, asked.space, target=values["target"], objective=asked.objective,
        outputs=asked.family.searched_outputs(asked), time_limit=_AskedWatch(asked.time_limit, desk.stopping),
        progress=desk.teller("looking for ε"),
    )  # fmt: skip
    low, high = bounds_text(found.low, found.high)
    return {"epsilon": high, "low": low, "loss": float_above(found.design.loss), "lost": desk.view.lost}


def _release(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """Rows of a file, released by the mechanism that is shown."""
    return released(
        desk.best().mechanism, desk.question.space, desk.view.columns, values["text"], values["name"], values["column"]
    )  # fmt: skip


def _compare(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """Every known mechanism for the promise, beside the optimum: a table of texts, and what is drawn of each."""
    desk.promise()
    question, view, best = desk.question, desk.view, desk.best()
    comparison = view.compared(question, best, lambda name: desk.say({"doing": f"building {name}"}))
    columns = [column for column in COMPARED_BY[comparison.by].columns[1:] if column.head]
    rows = []
    for row in comparison.rows:
        value = float_above(row.value) if row.value < inf else None
        cells = [column.cell(row) for column in columns]
        rows.append({"mechanism": row.name, "value": value, "cells": cells, **view.drawn(row, question)})
    return {"rows": rows, "heads": [column.head for column in columns], "by": view.by(comparison, question),
            "best": _OPTIMUM if best.gap < _NEARLY else "the best found", "left_out": comparison.left_out}  # fmt: skip


def _kernels(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """The kernels of a small type; for three or four secrets one of them, beside the optimum, on the simplex."""
    privacy = desk.promise()
    best = desk.best()
    family = kernels(privacy, progress=lambda state: desk.say({"doing": str(state)}))
    listed = [
        {"outputs": len(kernel.support), "weights": [_number(weight) for weight in kernel.weights]}
        for kernel in (family[k] for k in range(min(len(family), _MOST_KERNELS)))
    ]  # fmt: skip
    result: dict[str, Any] = {
        "count": len(family), "vertices": len(family.vertices), "sizes": {str(k): v for k, v in family.sizes().items()},
        "kernels": listed, "figure": None,
    }  # fmt: skip
    if len(privacy.space) in (3, 4):
        chosen = min(values["kernel"], len(family) - 1)
        prior = desk.question.prior if (desk.question.prior.weights > 0).all() else Prior.uniform(privacy.space)
        drawn = {"optimal": best.mechanism.channel, f"kernel {chosen + 1}": family[chosen].channel}
        result |= {"figure": figure_of(simplex(privacy, drawn, prior=prior)), "chosen": chosen}
    return result


def _verdicts(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """Is it private, best for every prior, and is the prior regular: each with its reason and witness."""
    privacy, space = desk.promise(), desk.question.space
    name = values["mechanism"]
    if name and name not in MECHANISMS:
        raise NotSupported(f"known mechanism {name!r}", MECHANISMS)
    mechanism = MECHANISMS[name](privacy) if name else desk.best().mechanism
    records = [_record("Does it keep the promise?", satisfies(mechanism.channel, privacy), str(mechanism.proof))]
    desk.say({"doing": "looking for a prior for which something is better"})
    starts = 50 if len(space) <= _MANY_SECRETS else 2
    universal = is_universally_optimal(mechanism, desk.question.loss_on_outputs, privacy, starts=starts)
    records.append({**_record("Is it the best for every prior?", universal), **_counterexample(universal)})
    desk.say({"doing": "asking whether the prior is regular"})
    regular = is_regular(desk.question.prior, privacy)
    records.append(_record("Is the prior regular?", regular, _about_regular(regular)))
    desk.say({"doing": "asking for tight constraints"})
    records.append(_record("Is there a mechanism all of whose constraints are tight?", has_tight_constraints(privacy)))
    names = [known_name for known_name, one in MECHANISMS.items() if one.applies(privacy).outcome == "holds"]
    return {"verdicts": records, "mechanism": name, "names": names}


def _record(question: str, verdict: Verdict, more: str = "") -> dict[str, Any]:
    return {"question": question, "outcome": str(verdict.outcome), "reason": verdict.reason, "more": more}


def _counterexample(verdict: Verdict) -> dict[str, Any]:
    """The prior for which something is better, and by how much."""
    witness = verdict.witness
    if verdict.outcome != "fails" or getattr(witness, "prior", None) is None:
        return {}
    prior = witness.prior
    loss, better = _numbers(witness.loss, witness.better_loss)
    return {"witness": {
        "prior": packed_floats(floats(prior.weights)), "weights": [_number(w) for w in prior.weights[:40]],
        "loss": loss, "better": better, "gap": _number(witness.gap),
    }}  # fmt: skip


def _about_regular(verdict: Verdict) -> str:
    if verdict.outcome == "holds":
        bound = verdict.witness.bound
        most = str(bound) if _is_short(bound) else text_above(bound, 6)
        return f"No mechanism of the type lets anybody guess the secret with a chance above {most}."
    if verdict.outcome == "fails" and hasattr(verdict.witness, "secret"):
        return f"The prior is too uneven around {label(verdict.witness.secret)}."
    return ""


def _audit(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """A matrix of any tool: private or not, at which ε, which pair breaks it, how far from the optimum, repaired."""
    privacy, space = desk.promise(), desk.question.space
    channel, box = uploaded(values["matrix"], values["name"], space, _ANY_SUM if values["normalise"] else TOLERANCE)
    desk.say({"doing": "asking whether it keeps the promise"})
    result = audit(channel, privacy, desk.question.prior, desk.question.loss, box=box, optimum=False)
    desk.say({"doing": "repairing it"})
    fixed = result.repaired()
    if values["repaired"]:
        return _saved(fixed.mechanism, "repaired.sfm")
    best, tight = desk.best(), result.tightest
    more = best.loss > 0 and result.remapped > best.loss * (1 + _SAME)
    rate, needed = result.rates
    return {
        "verdict": _record(f"Is it private at ε = {rate}{per(space)}?", result.verdict),
        "epsilon": result.epsilon if isfinite(result.epsilon) else None,
        "needed": needed,
        "nearest": None if result.nearest is None else {
            "distance": text_above(result.nearest.distance, 3), "epsilon": f"{result.nearest.epsilon:.6g}",
        },
        "tightest": None if tight is None else {
            "pair": [label(secret) for secret in tight.pair], "output": label(tight.output),
            "ratio": result.times, "distance": tight.distance,
        },
        "loss": float(result.remapped), "optimum": float(best.loss), "unit": space.unit, "rate": privacy.rate,
        "excess": float(result.remapped / best.loss - 1) if more else None,
        "moved": fixed.moved, "repaired_loss": fixed.loss_after,
    }  # fmt: skip


def _report(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """The report as one page that needs nothing else."""
    facts = facts_about(
        desk.best(), compare=desk.question.privacy is not None, progress=lambda state: desk.say({"doing": str(state)})
    )
    return {"text": page_of(facts).decode(), "name": "report.html"}


def _number(value: Any) -> str:
    """A fraction where it is short, six digits otherwise."""
    return _numbers(value, value)[0]


def _numbers(first: Any, second: Any) -> tuple[str, str]:
    """Two numbers that are said to differ: fractions where both are short, else as many digits as it takes."""
    return (str(first), str(second)) if _is_short(first) and _is_short(second) else told_apart(first, second)


def _is_short(value: Any) -> bool:
    return isinstance(value, Fraction) and len(str(value)) <= _LONGEST_FRACTION


_ANSWERS: dict[str, Callable[[Desk, dict[str, Any]], dict[str, Any]]] = {
    "look": _look,
    "design": _design,
    "curve": _curve,
    "calibrate": _calibrate,
    "release": _release,
    "compare": _compare,
    "kernels": _kernels,
    "verdicts": _verdicts,
    "audit": _audit,
    "density": _density,
    "mechanism": lambda desk, values: _saved(desk.best().mechanism, "mechanism.sfm"),
    "report": _report,
    "page": lambda desk, values: {"text": visitors_page(desk.best().mechanism), "name": "page.html"},
    "spec": lambda desk, values: {"text": to_toml(desk.spec), "name": "spec.toml"},
}
"""Tasks about a spec; the others read what people bring."""

_WITHOUT_A_SPEC: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "points": lambda values: point_tables(values["text"], values["name"], values["columns"]),
    "cities": lambda values: cities(values["country"], values["most"]),
}
