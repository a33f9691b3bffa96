"""Universal optimality on one core: verdicts by enumeration, least regret, the search for counter-examples.

"goal" is the time that was asked for. Results are exact unless the row says otherwise; a row of bounds shows both.
``--only PATTERN`` runs the cases whose name matches.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any

import sfumato as sf
from sfumato.losses import bin, distance, member, nib
from sfumato.theory.universal import is_universally_optimal, universal_design, worst_case_regret
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.prior_sets import all_priors
from sfumato.theory.universal.refute import refute
from timing import Table, measure

try:
    from sfumato.theory.universal.question import pose
except ImportError:  # a tree from before, which compare.py measures beside this one
    from sfumato.theory.universal.question import question as pose

REPEATS = 3


def main() -> None:
    """Print and write the table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--only", default="", help="a pattern for the names of cases")
    only = parser.parse_args().only
    table = Table(
        "universal",
        "Universal optimality",
        ("case", "answer", "first call, s", "median, s", "goal, s", "goal ÷ median"),
        ("case",),
        "median, s",
    )
    for case, goal, work in _cases():
        if not re.search(only, case):
            continue
        results: list[Any] = []
        timing = measure(lambda work=work, results=results: results.append(work()), REPEATS)
        table.add(case, _shown(results[-1]), timing.first, timing.median, goal, goal / timing.median)
    table.finish()


def _shown(result: Any) -> str:
    if isinstance(result, list):
        return f"{sum(map(bool, result))} of {len(result)}"
    if hasattr(result, "lower"):
        if result.exact:
            return f"regret {result.lower}"
        return f"regret in [{float(result.lower):.4g}, {float(result.upper):.4g}]"
    return "nothing found" if result is None else str(getattr(result, "outcome", result))


def _alpha(space: sf.FiniteSpace, alpha: str = "1/2") -> sf.PrivacyType:
    return sf.PrivacyType(space, alpha=alpha)


def _cases() -> Iterator[tuple[str, float, Callable[[], Any]]]:
    for n, goal in ((7, 1.0), (8, 8.0)):
        privacy = _alpha(sf.line(n))
        mechanism = sf.geometric(privacy)
        yield f"geometric, ℓ_bin, {n} secrets, all cells", goal, lambda m=mechanism, p=privacy: worst_case_regret(
            m, bin(p.space), p
        )  # fmt: skip
    five = _alpha(sf.line(5))
    channels = [kernel.channel for kernel in sf.types.kernels(five)]
    yield (
        "all 187 kernels of the 5-line, ℓ_bin",
        2.0,
        lambda: [is_universally_optimal(channel, bin(five.space), five) for channel in channels],
    )
    for name, loss, privacy in _golden():
        yield f"least regret, {name}", 1.0, lambda ell=loss, p=privacy: universal_design(ell, p)
    cube = sf.hamming(3)
    for name, loss in (("ℓ_bin", bin(cube)), ("distance", distance(cube))):
        yield f"least regret, 3-cube, {name}", 15.0, lambda ell=loss: universal_design(ell, _alpha(cube))
    irrational = sf.PrivacyType(cube, epsilon="0.7")
    yield (
        "regret of tight constraints, 3-cube, ε = 0.7",
        15.0,
        lambda: worst_case_regret(sf.tight_constraints(irrational), member(cube, ["000"])),
    )
    wide = _alpha(sf.line(16))
    geometric, setup = sf.geometric(wide).channel, pose(bin(wide.space), wide)
    yield (
        "50 starts of the search, geometric, ℓ_bin, 16 secrets",
        1.0,
        lambda: refute(setup, geometric, all_priors(wide.space), LeastLoss(setup), starts=50),
    )


def _golden() -> Iterator[tuple[str, sf.Loss, sf.PrivacyType]]:
    discrete3, discrete4, line4 = sf.discrete(3), sf.discrete(4), sf.line(4)
    cycle, star, line5 = sf.cycle(4), sf.spaces.star(3), sf.line(5)
    yield "discrete(3), ½, ℓ_bin", bin(discrete3), _alpha(discrete3)
    yield "discrete(4), ½, ℓ_bin", bin(discrete4), _alpha(discrete4)
    yield "discrete(3), ¼, ℓ_bin", bin(discrete3), _alpha(discrete3, "1/4")
    yield "line(4), ½, in {0, 2}?", member(line4, [0, 2]), _alpha(line4)
    yield "cycle(4), ½, ℓ_bin", bin(cycle), _alpha(cycle)
    yield "cycle(4), ½, distance", distance(cycle), _alpha(cycle)
    yield "star(3), ⅔, ℓ_bin", bin(star), _alpha(star, "2/3")
    yield "star(3), ½, ℓ_bin", bin(star), _alpha(star)
    yield "line(5), ½, ℓ_nib", nib(line5), _alpha(line5)


if __name__ == "__main__":
    main()
