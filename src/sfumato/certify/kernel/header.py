"""Reads the header of a file: numbers become integers and rationals, and what is promised and claimed has a shape."""

from sfumato.certify.kernel.arithmetic import common_multiple
from sfumato.certify.kernel.box_bounds import NORMS
from sfumato.certify.kernel.box_header import interpret_coordinates
from sfumato.certify.kernel.errors import Unreadable, named
from sfumato.certify.kernel.fields import (
    COORDINATES,
    VERSION,
    at_most,
    check_kind,
    check_labels,
    check_text,
    interpret_beginning,
    known,
    of_kind,
    rational,
)
from sfumato.certify.kernel.sections import Terms

MOST_LIMITS = 1000  # and as many priors; each of them is checked as the loss is
FORMS = {("rational", "table"), ("rational", "edges"), ("root", "table"), ("float", "table"), ("float", "edges")}
PROMISES = ("rows", "events")  # what a promise is about; others need a later kernel
CLAIMS = ("loss", "shares")
CRITERIA = {
    "expected": "expected loss",
    "worst secret": "largest loss of a secret",
    "worst prior": "largest expected loss",
}


def interpret(header: Terms) -> Terms:
    """Turn the numbers of a parsed header into integers and rationals, and check its shape."""
    version = header["version"]
    if type(version) is not int or version != VERSION:
        raise Unreadable(f"the header has version {named(version)}, the file version {VERSION}")
    if "box" in header or header["promise"]["kind"] == COORDINATES:
        return interpret_coordinates(known(header, f"header about {'noise' if 'noise' in header else COORDINATES}"))
    known(header, "header")
    for name in ("secrets", "outputs"):
        check_labels(header[name], name)
    interpret_beginning(header, "space")
    n = len(header["secrets"])
    for event in of_kind(header, "events", list):
        interpret_event(known(event, "promise about events"), n)
    interpret_promise(known(header["promise"], "promise"), known(header["metric"], "metric"))
    if header["promise"]["kind"] == "events" and not header["events"]:
        raise Unreadable("the promise is about events, and none is listed")
    if of_kind(header, "claims", dict):
        interpret_claims(header["claims"])
    if header["claims"].get("kind") == "shares" and header["events"]:
        raise Unreadable("a claim about shares stands beside a promise about events")
    return header


def interpret_promise(promise: Terms, metric: Terms) -> None:
    """Check and convert what is promised, and in which form distances are given."""
    check_kind(promise, "promise", PROMISES)
    if "norm" in metric or metric["source"] == "places":
        if metric["source"] != "places" or NORMS.get(metric["norm"]) != metric["form"]:
            raise Unreadable("the metric has a norm that does not belong to it")
    elif (metric["form"], metric["source"]) not in FORMS:
        raise Unreadable("the metric has an unknown form")
    unit = metric["unit"] = rational(metric["unit"])
    if unit <= 0 or (metric["form"] == "float" and unit != 1):
        raise Unreadable("the unit of distance must be positive, and 1 for floats")
    for name in ("epsilon", "alpha", "step"):
        promise[name] = None if promise.get(name) is None else rational(promise[name])
    alpha, epsilon, step = promise["alpha"], promise["epsilon"], promise["step"]
    if (alpha is None) == (epsilon is None) or (alpha is None and not epsilon > 0):
        raise Unreadable("the promise is neither an epsilon nor an alpha")
    if alpha is not None and not 0 < alpha < 1:
        raise Unreadable("alpha must lie between 0 and 1")
    if step is not None and (alpha is None or not 0 < step < 1 or max(unit.numerator, unit.denominator) > 64):
        raise Unreadable("the step must be a small power of alpha")
    if step is not None and step**unit.denominator != alpha**unit.numerator:
        raise Unreadable("the step is not alpha to the unit of distance")


def interpret_event(event: Terms, n: int) -> None:
    """Check and convert a promise about events: a factor or an epsilon, a delta, and for how many pairs it is given."""
    for name in ("factor", "epsilon", "delta"):
        event[name] = None if event.get(name) is None else rational(event[name])
    factor, epsilon, delta, pairs = (event[name] for name in ("factor", "epsilon", "delta", "pairs"))
    given = epsilon if factor is None else factor
    if (factor is None) == (epsilon is None) or not given > 0 or delta is None or not 0 <= delta <= 1:
        raise Unreadable("a promise about events needs a factor or an epsilon, and a delta from 0 to 1")
    if type(pairs) is not int or not 0 < pairs <= n * (n - 1):
        raise Unreadable(f"a promise about events is given for {named(pairs)} pairs, of which there are {n * (n - 1)}")


def interpret_claims(claims: Terms) -> None:
    """Check and convert what is claimed. Units are positive: a largest sum stays the largest when it is multiplied."""
    check_kind(claims, "claim", CLAIMS)
    if claims["kind"] == "shares":
        interpret_shares_claim(known(claims, "claim about shares"))
        return
    check_text(known(claims, "claim").setdefault("loss_name", ""), "the name of the loss")
    check_labels(claims["actions"], "actions")
    if claims.setdefault("criterion", "expected") not in CRITERIA:
        raise Unreadable("the claim is about an unknown criterion")
    if ("bound" in claims) != ("dual_unit" in claims):
        raise Unreadable("the claim has a bound without a unit of dual numbers, or the unit without a bound")
    for name in ("loss", "loss_unit", *(["bound", "dual_unit"] if "bound" in claims else [])):
        claims[name] = rational(claims[name])
    at_most(len(of_kind(claims, "ceilings", list)), MOST_LIMITS, "limits")
    for ceiling in claims["ceilings"]:
        check_text(known(ceiling, "ceiling").setdefault("name", ""), "the name of a limit")
        ceiling["unit"], ceiling["level"] = rational(ceiling["unit"]), rational(ceiling["level"])
    common_multiple(ceiling["unit"].denominator for ceiling in claims["ceilings"])
    units = [claims["loss_unit"], claims.get("dual_unit", 1), *(ceiling["unit"] for ceiling in claims["ceilings"])]
    if min(units) <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")


def interpret_shares_claim(claims: Terms) -> None:
    """The same for a claim about estimates of shares."""
    check_text(claims.setdefault("workload_name", ""), "the name of the workload")
    if claims.setdefault("criterion", "expected") not in ("expected", "worst prior"):
        raise Unreadable("a claim about shares is about one distribution, or about the worst of several")
    for name in ("loss", "workload_unit", *(["bound"] if "bound" in claims else [])):
        claims[name] = rational(claims[name])
    if claims["workload_unit"] <= 0:
        raise Unreadable("the unit of a workload is not positive")
