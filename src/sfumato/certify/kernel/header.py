"""Reads the header of a file: numbers become integers and rationals, and what is promised and claimed has a shape."""

from fractions import Fraction

from sfumato.certify.kernel.arithmetic import common_multiple
from sfumato.certify.kernel.box_bounds import NORMS
from sfumato.certify.kernel.box_header import interpret_coordinates
from sfumato.certify.kernel.errors import Unreadable, named
from sfumato.certify.kernel.fields import (
    COORDINATES,
    VERSION,
    Json,
    check_kind,
    check_labels,
    check_text,
    few_enough,
    interpret_beginning,
    interpret_end,
    known,
    of_kind,
    optional,
    rational,
)
from sfumato.certify.kernel.values import (
    AnyHeader,
    Event,
    Header,
    LossClaim,
    Metric,
    Promise,
    VarianceClaim,
    WrittenLimit,
)

MOST_LIMITS = 1000  # and as many priors; each of them is checked as the loss is
FORMS = {("rational", "table"), ("rational", "edges"), ("root", "table"), ("float", "table"), ("float", "edges")}
PROMISES = ("rows", "events")  # what a promise is about; others need a later kernel
CLAIMS = ("loss", "shares")
CRITERIA = {
    "expected": "expected loss",
    "worst secret": "largest loss of a secret",
    "worst prior": "largest expected loss",
}


def interpret(header: Json) -> AnyHeader:
    """What a parsed header says, as a value of integers and rationals; its shape is checked on the way."""
    version = header["version"]
    if type(version) is not int or version != VERSION:
        raise Unreadable(f"the header has version {named(version)}, the file version {VERSION}")
    if "box" in header or header["promise"]["kind"] == COORDINATES:
        return interpret_coordinates(known(header, f"header about {'noise' if 'noise' in header else COORDINATES}"))
    known(header, "header")
    for name in ("secrets", "outputs"):
        check_labels(header[name], name)
    space, total, widths = interpret_beginning(header, "space")
    n = len(header["secrets"])
    events = tuple(interpret_event(known(e, "promise about events"), n) for e in of_kind(header, "events", list))
    promise, metric = interpret_promise(known(header["promise"], "promise"), known(header["metric"], "metric"))
    if promise.kind == "events" and not events:
        raise Unreadable("the promise is about events, and none is listed")
    claims = interpret_claims(header["claims"]) if of_kind(header, "claims", dict) else None
    if isinstance(claims, VarianceClaim) and events:
        raise Unreadable("a claim about shares stands beside a promise about events")
    return Header(
        header["secrets"], header["outputs"], total, space, metric, promise, events, claims, header.get("provenance"),
        widths, interpret_end(header),
    )  # fmt: skip


def interpret_promise(promise: Json, metric: Json) -> tuple[Promise, Metric]:
    """What is promised, and in which form distances are given."""
    check_kind(promise, "promise", PROMISES)
    if "norm" in metric or metric["source"] == "places":
        if metric["source"] != "places" or NORMS.get(metric["norm"]) != metric["form"]:
            raise Unreadable("the metric has a norm that does not belong to it")
    elif (metric["form"], metric["source"]) not in FORMS:
        raise Unreadable("the metric has an unknown form")
    unit = rational(metric["unit"])
    if unit <= 0 or (metric["form"] == "float" and unit != 1):
        raise Unreadable("the unit of distance must be positive, and 1 for floats")
    epsilon, alpha, step = (optional(promise, name) for name in ("epsilon", "alpha", "step"))
    if (alpha is None) == (epsilon is None) or (epsilon is not None and not epsilon > 0):
        raise Unreadable("the promise is neither an epsilon nor an alpha")
    if alpha is not None and not 0 < alpha < 1:
        raise Unreadable("alpha must lie between 0 and 1")
    if step is not None and (alpha is None or not 0 < step < 1 or max(unit.numerator, unit.denominator) > 64):
        raise Unreadable("the step must be a small power of alpha")
    if step is not None and alpha is not None and step**unit.denominator != alpha**unit.numerator:
        raise Unreadable("the step is not alpha to the unit of distance")
    return (
        Promise(promise["kind"], epsilon, alpha, step),
        Metric(metric["form"], unit, metric["source"], metric.get("norm")),
    )


def interpret_event(event: Json, n: int) -> Event:
    """A promise about events: a factor or an epsilon, a delta, and for how many pairs it is given."""
    factor, epsilon, delta = (optional(event, name) for name in ("factor", "epsilon", "delta"))
    pairs, given = event["pairs"], epsilon if factor is None else factor
    if (factor is None) == (epsilon is None) or not (given and given > 0) or delta is None or not 0 <= delta <= 1:
        raise Unreadable("a promise about events needs a factor or an epsilon, and a delta from 0 to 1")
    if type(pairs) is not int or not 0 < pairs <= n * (n - 1):
        raise Unreadable(f"a promise about events is given for {named(pairs)} pairs, of which there are {n * (n - 1)}")
    return Event(factor, epsilon, delta, pairs)


def interpret_claims(claims: Json) -> LossClaim | VarianceClaim:
    """What is claimed. Units are positive: a largest sum stays the largest when it is multiplied."""
    check_kind(claims, "claim", CLAIMS)
    if claims["kind"] == "shares":
        return interpret_variance(known(claims, "claim about shares"))
    name, criterion = known(claims, "claim").get("loss_name", ""), claims.get("criterion", "expected")
    check_text(name, "the name of the loss")
    check_labels(claims["actions"], "actions")
    if criterion not in CRITERIA:
        raise Unreadable("the claim is about an unknown criterion")
    if ("bound" in claims) != ("dual_unit" in claims):
        raise Unreadable("the claim has a bound without a unit of dual numbers, or the unit without a bound")
    loss, loss_unit = rational(claims["loss"]), rational(claims["loss_unit"])
    bound = rational(claims["bound"]) if "bound" in claims else None
    dual_unit = rational(claims["dual_unit"]) if "bound" in claims else Fraction(1)
    limits = of_kind(claims, "ceilings", list)
    few_enough(len(limits), MOST_LIMITS, "limits")
    ceilings = tuple(interpret_limit(known(ceiling, "ceiling")) for ceiling in limits)
    common_multiple(ceiling.unit.denominator for ceiling in ceilings)
    if min([loss_unit, dual_unit, *(ceiling.unit for ceiling in ceilings)]) <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")
    return LossClaim("loss", loss, loss_unit, name, claims["actions"], criterion, ceilings, bound, dual_unit)


def interpret_limit(ceiling: Json) -> WrittenLimit:
    """A limit of a claim."""
    check_text(ceiling.get("name", ""), "the name of a limit")
    return WrittenLimit(ceiling.get("name", ""), rational(ceiling["unit"]), rational(ceiling["level"]))


def interpret_variance(claims: Json) -> VarianceClaim:
    """What is claimed about estimates of shares."""
    name, criterion = claims.get("workload_name", ""), claims.get("criterion", "expected")
    check_text(name, "the name of the workload")
    if criterion not in ("expected", "worst prior"):
        raise Unreadable("a claim about shares is about one distribution, or about the worst of several")
    loss, unit = rational(claims["loss"]), rational(claims["workload_unit"])
    bound = rational(claims["bound"]) if "bound" in claims else None
    if unit <= 0:
        raise Unreadable("the unit of a workload is not positive")
    return VarianceClaim("shares", loss, bound, criterion, name, unit)
