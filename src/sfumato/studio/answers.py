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
from sfumato.design.result import Design
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
from sfumato.report.page import report as written
from sfumato.report.simplex import simplex
from sfumato.specs.words import per
from sfumato.studio.desk import Desk, Result, saved
from sfumato.studio.limits import MOST_KERNELS
from sfumato.studio.uploads import uploaded
from sfumato.studio.views import figure_of, packed, table_of
from sfumato.verdict import Verdict

_CURVE_GAP = 1e-3
_MOST_ENTRIES = 2**18  # of a table that is sent to be drawn
_MANY_SECRETS = 10  # beyond, a search for a better mechanism is short
_LONGEST_FRACTION = 16  # letters
_SAME = Fraction(1, 10**8)  # of a loss: a difference that is not worth a word
_ANY_SUM = Fraction(1, 2)  # by which the sum of a row may miss 1 where somebody wants it divided


def curve(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """The least loss for several ε, drawn as far as it is known after each point."""
    space = desk.setup.space
    epsilons = sorted({_epsilon(value) for value in values["epsilons"]})
    points: list[tuple[Fraction, Design]] = []
    for number, epsilon in enumerate(epsilons, 1):
        if desk.stopping():
            break
        best = desk.design(_CURVE_GAP, PrivacyType(space, epsilon=epsilon), f"ε {number} of {len(epsilons)}")
        points.append((epsilon, best))
        if number < len(epsilons):
            desk.say({"doing": f"ε {number} of {len(epsilons)}", "figure": _drawn(points), "points": _points(points)})
    if not points:
        raise InvalidInput("stopped before the first point of the curve")
    return {"figure": _drawn(points), "points": _points(points), "whole": len(points) == len(epsilons)}, None


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
    return figure_of(curve_figure(Curve(epsilons, designs)))


def _points(points: list[tuple[Fraction, Design]]) -> list[dict[str, float]]:
    return [{"epsilon": float(e), "loss": float(m.loss), "bound": float(m.bound), "gap": m.gap} for e, m in points]


def compare(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """Every known mechanism for the promise, beside the optimum."""
    privacy, space = desk.promise(), desk.setup.space
    best = known or desk.design()
    everyone = {"optimal": best.mechanism, **MECHANISMS}
    comparison = compare_known(
        desk.setup.prior, desk.setup.loss_on_outputs, privacy, mechanisms=everyone,
        progress=lambda name: desk.say({"doing": f"building {name}"}),
    )  # fmt: skip
    rows = []
    for row, record in zip(comparison.rows, comparison.records(), strict=True):
        small = len(space) * len(row.channel.outputs) <= _MOST_ENTRIES
        rows.append({**record, **(table_of(row.channel, space) if small else {"outputs": [], "at": [], "matrix": ""})})
    return {"rows": rows, "blind": float(comparison.blind), "bound": float(best.bound), "left_out": comparison.left_out,
            "loss_name": desk.setup.loss.name, "unit": space.unit, "rate": privacy.rate}, best  # fmt: skip


def kernels(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """The kernels of a small type; for three or four secrets one of them, beside the optimum, on the simplex."""
    privacy = desk.promise()
    best = known or desk.design()
    family = kernels_of(privacy, progress=lambda state: desk.say({"doing": str(state)}))
    listed = [
        {"outputs": len(kernel.support), "vertices": [int(k) for k in kernel.support],
         "weights": [_number(weight) for weight in kernel.weights]}
        for kernel in (family[k] for k in range(min(len(family), MOST_KERNELS)))
    ]  # fmt: skip
    result: dict[str, Any] = {
        "count": len(family), "vertices": len(family.vertices), "sizes": {str(k): v for k, v in family.sizes().items()},
        "kernels": listed, "figure": None,
    }  # fmt: skip
    if len(privacy.space) in (3, 4):
        chosen = min(values["kernel"], len(family) - 1)
        prior = desk.setup.prior if (desk.setup.prior.weights > 0).all() else Prior.uniform(privacy.space)
        drawn = {"optimal": best.mechanism.channel, f"kernel {chosen + 1}": family[chosen].channel}
        result |= {"figure": figure_of(simplex(privacy, drawn, prior=prior)), "chosen": chosen}
    return result, best


def verdicts(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """Is it private, best for every prior, and is the prior regular: each with its reason and witness."""
    privacy, space = desk.promise(), desk.setup.space
    optimum = known or desk.design()
    name = values["mechanism"]
    if name and name not in MECHANISMS:
        raise NotSupported(f"known mechanism {name!r}", MECHANISMS)
    mechanism = MECHANISMS[name](privacy) if name else optimum.mechanism
    records = [_record("Does it keep the promise?", satisfies(mechanism.channel, privacy), str(mechanism.proof))]
    desk.say({"doing": "looking for a prior for which something is better"})
    starts = 50 if len(space) <= _MANY_SECRETS else 2
    universal = is_universally_optimal(mechanism, desk.setup.loss_on_outputs, privacy, starts=starts)
    records.append({**_record("Is it the best for every prior?", universal), **_counterexample(universal, space)})
    desk.say({"doing": "asking whether the prior is regular"})
    regular = is_regular(desk.setup.prior, privacy)
    records.append(_record("Is the prior regular?", regular, _about_regular(regular)))
    desk.say({"doing": "asking for tight constraints"})
    records.append(_record("Is there a mechanism all of whose constraints are tight?", has_tight_constraints(privacy)))
    names = [known_name for known_name, one in MECHANISMS.items() if one.applies(privacy).outcome == "holds"]
    return {"verdicts": records, "mechanism": name, "names": names}, optimum


def _record(question: str, verdict: Verdict, more: str = "") -> dict[str, Any]:
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


def audit(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """A matrix of any tool: private or not, at which ε, which pair breaks it, how far from the optimum, repaired."""
    privacy, space = desk.promise(), desk.setup.space
    channel, box = uploaded(values["matrix"], values["name"], space, _ANY_SUM if values["normalise"] else TOLERANCE)
    desk.say({"doing": "asking whether it keeps the promise"})
    result = audited(channel, privacy, desk.setup.prior, desk.setup.loss, box=box, optimum=False)
    desk.say({"doing": "repairing it"})
    fixed = result.repaired()
    if values["repaired"]:
        return saved(fixed.mechanism, "repaired.sfm"), None
    best, tight = known or desk.design(), result.tightest
    more = best.loss > 0 and result.remapped > best.loss * (1 + _SAME)
    rate, needed = result.rates
    return {
        "verdict": _record(f"Is it private at ε = {rate}{per(space)}?", result.verdict),
        "epsilon": result.epsilon if isfinite(result.epsilon) else None,
        "needed": needed,
        "nearest": None if result.nearest is None else {
            "distance": at_most(result.nearest.distance, 3), "epsilon": f"{result.nearest.epsilon:.6g}",
        },
        "tightest": None if tight is None else {
            "pair": [label(secret) for secret in tight.pair], "output": label(tight.output),
            "ratio": f"{float(tight.ratio):.6g}" if isfinite(tight.ratio) else "infinitely many",
            "distance": tight.distance,
        },
        "loss": float(result.remapped), "optimum": float(best.loss), "bound": float(best.bound), "unit": space.unit,
        "excess": float(result.remapped / best.loss - 1) if more else None,
        "loss_name": desk.setup.loss.name, "moved": fixed.moved, "repaired_loss": fixed.loss_after,
        "rate": privacy.rate, **table_of(channel, space), "repaired": table_of(fixed.mechanism, space),
    }, best  # fmt: skip


def report(desk: Desk, values: dict[str, Any], known: Design | None) -> Result:
    """The report as one page that needs nothing else."""
    best = known or desk.design()
    with TemporaryDirectory(prefix="sfumato-") as folder:
        path = Path(folder) / "report.html"
        written(best, path, compare=desk.privacy is not None, progress=lambda state: desk.say({"doing": str(state)}))
        text = path.read_text(encoding="utf-8")
    return {"text": text, "name": "report.html"}, best


def _number(value: Any) -> str:
    """A fraction where it is short, six digits otherwise."""
    return _numbers(value, value)[0]


def _numbers(first: Any, second: Any) -> tuple[str, str]:
    """Two numbers that are said to differ: fractions where both are short, else as many digits as it takes."""
    texts = [str(value) if isinstance(value, Fraction) else "" for value in (first, second)]
    short = all(text and len(text) <= _LONGEST_FRACTION for text in texts)
    return (texts[0], texts[1]) if short else told_apart(first, second)
