"""The longer answers: the curve, known mechanisms, kernels, verdicts, an audit, a report."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.channels import Prior
from sfumato.design import Curve, is_universally_optimal
from sfumato.design.comparison import compare_known
from sfumato.design.optimal import Design
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import at_most, floats, told_apart
from sfumato.privacy import (
    PrivacyType,
    has_tight_constraints,
    is_regular,
    satisfies,
)  # fmt: skip
from sfumato.privacy import kernels as kernels_of
from sfumato.privacy.promise import rate
from sfumato.report.audit import audit as audited
from sfumato.report.audit_matrix import TOLERANCE
from sfumato.report.curve import curve_figure
from sfumato.report.html import label
from sfumato.report.simplex import simplex
from sfumato.specs.words import per
from sfumato.studio.limits import MOST_KERNELS
from sfumato.studio.tasks import Desk, saved
from sfumato.studio.uploads import uploaded
from sfumato.studio.views import figure_of, packed, table_of
from sfumato.verdict import Verdict

__all__ = ["audit", "compare", "curve", "kernels", "report", "verdicts"]

_CURVE_GAP = 1e-3
_MOST_ENTRIES = 2**18  # of a table that is sent to be drawn
_MANY_SECRETS = 10  # beyond, a search for a better mechanism is short
_LONGEST_FRACTION = 16  # letters
_SAME = Fraction(1, 10**8)  # of a loss: a difference that is not worth a word
_ANY_SUM = Fraction(1, 2)  # by which the sum of a row may miss 1 where somebody wants it divided

Answer = tuple[dict[str, Any], Design | None]


def curve(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """The least loss for several ε, drawn as far as it is known after each point."""
    space = desk.setup.space
    epsilons = sorted({_epsilon(value) for value in values["epsilons"]})
    found: list[tuple[Fraction, Design]] = []
    for number, epsilon in enumerate(epsilons, 1):
        if desk.stopping():
            break
        made = desk.design(_CURVE_GAP, PrivacyType(space, epsilon=epsilon), f"ε {number} of {len(epsilons)}")
        found.append((epsilon, made))
        if number < len(epsilons):
            desk.say({"doing": f"ε {number} of {len(epsilons)}", "figure": _drawn(found), "points": _points(found)})
    if not found:
        raise InvalidInput("stopped before the first point of the curve")
    return {"figure": _drawn(found), "points": _points(found), "whole": len(found) == len(epsilons)}, None


def _epsilon(value: Any) -> Fraction:
    try:
        found = rate(value)
    except InvalidInput as error:
        raise InvalidInput(f"ε on a curve: {error}") from None
    if found <= 0:
        raise InvalidInput("ε on a curve must be positive")
    return found


def _drawn(found: list[tuple[Fraction, Design]]) -> dict[str, Any]:
    epsilons, designs = zip(*found, strict=True)
    return figure_of(curve_figure(Curve(epsilons, designs)))


def _points(found: list[tuple[Fraction, Design]]) -> list[dict[str, float]]:
    return [{"epsilon": float(e), "loss": float(m.loss), "bound": float(m.bound), "gap": m.gap} for e, m in found]


def compare(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """Every known mechanism for the promise, beside the optimum."""
    privacy, space = desk.promise(), desk.setup.space
    made = known or desk.design()
    everyone = {"optimal": made.mechanism, **MECHANISMS}
    found = compare_known(
        desk.setup.prior, desk.setup.loss_on_outputs, privacy, mechanisms=everyone,
        progress=lambda name: desk.say({"doing": f"building {name}"}),
    )  # fmt: skip
    rows = []
    for row, record in zip(found.rows, found.records(), strict=True):
        small = len(space) * len(row.channel.outputs) <= _MOST_ENTRIES
        rows.append({**record, **(table_of(row.channel, space) if small else {"outputs": [], "at": [], "matrix": ""})})
    return {"rows": rows, "blind": float(found.blind), "bound": float(made.bound), "left_out": found.left_out,
            "loss_name": desk.setup.loss.name, "unit": space.unit, "rate": privacy.rate}, made  # fmt: skip


def kernels(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """The kernels of a small type; for three or four secrets one of them, beside the optimum, on the simplex."""
    privacy = desk.promise()
    made = known or desk.design()
    found = kernels_of(privacy, progress=lambda state: desk.say({"doing": str(state)}))
    listed = [
        {"outputs": len(kernel.support), "vertices": [int(k) for k in kernel.support],
         "weights": [_number(weight) for weight in kernel.weights]}
        for kernel in (found[k] for k in range(min(len(found), MOST_KERNELS)))
    ]  # fmt: skip
    result: dict[str, Any] = {
        "count": len(found), "vertices": len(found.vertices), "sizes": {str(k): v for k, v in found.sizes().items()},
        "kernels": listed, "figure": None,
    }  # fmt: skip
    if len(privacy.space) in (3, 4):
        chosen = min(values["kernel"], len(found) - 1)
        prior = desk.setup.prior if (desk.setup.prior.weights > 0).all() else Prior.uniform(privacy.space)
        drawn = {"optimal": made.mechanism.channel, f"kernel {chosen + 1}": found[chosen].channel}
        result |= {"figure": figure_of(simplex(privacy, drawn, prior=prior)), "chosen": chosen}
    return result, made


def verdicts(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """Is it private, best for every prior, and is the prior regular: each with its reason and witness."""
    privacy, space = desk.promise(), desk.setup.space
    made = known or desk.design()
    name = values["mechanism"]
    if name and name not in MECHANISMS:
        raise NotSupported(f"known mechanism {name!r}", MECHANISMS)
    mechanism = MECHANISMS[name](privacy) if name else made.mechanism
    found = [_said("Does it keep the promise?", satisfies(mechanism.channel, privacy), str(mechanism.proof))]
    desk.say({"doing": "looking for a prior for which something is better"})
    starts = 50 if len(space) <= _MANY_SECRETS else 2
    best = is_universally_optimal(mechanism, desk.setup.loss_on_outputs, privacy, starts=starts)
    found.append({**_said("Is it the best for every prior?", best), **_counterexample(best, space)})
    desk.say({"doing": "asking whether the prior is regular"})
    regular = is_regular(desk.setup.prior, privacy)
    found.append(_said("Is the prior regular?", regular, _about_regular(regular)))
    desk.say({"doing": "asking for tight constraints"})
    found.append(_said("Is there a mechanism all of whose constraints are tight?", has_tight_constraints(privacy)))
    names = [known_name for known_name, one in MECHANISMS.items() if one.applies(privacy).outcome == "holds"]
    return {"verdicts": found, "mechanism": name, "names": names}, made


def _said(question: str, verdict: Verdict, more: str = "") -> dict[str, Any]:
    return {"question": question, "outcome": str(verdict.outcome), "reason": verdict.reason, "more": more}


def _counterexample(verdict: Verdict, space: Any) -> dict[str, Any]:
    """The prior for which something is better, and by how much."""
    witness = verdict.witness
    if verdict.outcome != "fails" or getattr(witness, "prior", None) is None:
        return {}
    prior = witness.prior
    loss, better = _numbers(witness.loss, witness.better_loss)
    return {"witness": {
        "prior": packed(floats(prior.weights)), "weights": [_number(w) for w in prior.weights[:40]],
        "loss": loss, "better": better, "gap": _number(witness.gap),
        **table_of(witness.channel, space),
    }}  # fmt: skip


def _about_regular(verdict: Verdict) -> str:
    if verdict.outcome == "holds":
        most = _number(verdict.witness.bound)
        return f"No mechanism of the type lets anybody guess the secret with a chance above {most}."
    if verdict.outcome == "fails" and hasattr(verdict.witness, "secret"):
        return f"The prior is too uneven around {label(verdict.witness.secret)}."
    return ""


def audit(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """A matrix of any tool: private or not, at which ε, which pair breaks it, how far from the optimum, repaired."""
    privacy, space = desk.promise(), desk.setup.space
    channel, box = uploaded(values["matrix"], values["name"], space, _ANY_SUM if values["normalise"] else TOLERANCE)
    desk.say({"doing": "asking whether it keeps the promise"})
    found = audited(channel, privacy, desk.setup.prior, desk.setup.loss, box=box, optimum=False)
    desk.say({"doing": "repairing it"})
    fixed = found.repaired()
    if values["repaired"]:
        return saved(fixed.mechanism, "repaired.sfm"), None
    made, tight = known or desk.design(), found.tightest
    more = made.loss > 0 and found.remapped > made.loss * (1 + _SAME)
    rate, needed = found.rates
    return {
        "verdict": _said(f"Is it private at ε = {rate}{per(space)}?", found.verdict),
        "epsilon": found.epsilon if isfinite(found.epsilon) else None,
        "needed": needed,
        "nearest": None if found.nearest is None else {
            "distance": at_most(found.nearest.distance, 3), "epsilon": f"{found.nearest.epsilon:.6g}",
        },
        "tightest": None if tight is None else {
            "pair": [label(secret) for secret in tight.pair], "output": label(tight.output),
            "ratio": f"{float(tight.ratio):.6g}" if isfinite(tight.ratio) else "infinitely many",
            "distance": tight.distance,
        },
        "loss": float(found.remapped), "optimum": float(made.loss), "bound": float(made.bound), "unit": space.unit,
        "excess": float(found.remapped / made.loss - 1) if more else None,
        "loss_name": desk.setup.loss.name, "moved": fixed.moved, "repaired_loss": fixed.loss_after,
        "rate": privacy.rate, **table_of(channel, space), "repaired": table_of(fixed.mechanism, space),
    }, made  # fmt: skip


def report(desk: Desk, values: dict[str, Any], known: Design | None) -> Answer:
    """The report as one page that needs nothing else."""
    from sfumato.report.page import report as written

    made = known or desk.design()
    with TemporaryDirectory(prefix="sfumato-") as folder:
        path = Path(folder) / "report.html"
        written(made, path, compare=desk.privacy is not None, progress=lambda state: desk.say({"doing": str(state)}))
        text = path.read_text(encoding="utf-8")
    return {"text": text, "name": "report.html"}, made


def _number(value: Any) -> str:
    """A fraction where it is short, six digits otherwise."""
    return _numbers(value, value)[0]


def _numbers(first: Any, second: Any) -> tuple[str, str]:
    """Two numbers that are said to differ: fractions where both are short, else as many digits as it takes."""
    texts = [str(value) if isinstance(value, Fraction) else "" for value in (first, second)]
    short = all(text and len(text) <= _LONGEST_FRACTION for text in texts)
    return (texts[0], texts[1]) if short else told_apart(first, second)
