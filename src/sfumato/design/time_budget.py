"""What a time limit has to leave for repair and proof: foreseen from the size of a problem.

A solver can stop at any time, a proof cannot, and without one nothing is returned.
"""

from __future__ import annotations

from math import ceil

from sfumato.design.problem import SMALLER, Problem
from sfumato.errors import NotSupported
from sfumato.threads import cores
from sfumato.watch import Watch

# What repair and proof take, in seconds: for each pair of secrets, pair and output, entry, and product of a table of
# losses with the mechanism; all but the first on all cores. Measured on two of them, for 200 to 1,000 places and for
# counts of 3,000 and 5,000.
_PROOF_SECONDS = 1e-6, 6e-9, 6e-7, 1e-10
# What rounding, bounding and writing down take at the least, in seconds for each entry, even for a mechanism with one
# output: 200 s for 22,500 secrets and as many actions.
_LEAST_SECONDS = 4e-7
# No more than this share of a time limit is kept for repair and proof.
_MOST_PROVING = 0.5
_FINDING = 0.5  # of what is left is for finding a mechanism with few outputs
# So much longer than the proof of a mechanism with one output, which has to be waited for in any case, that of one with
# few outputs may take however short the time is: one output tells nothing.
_BESIDE_ONE = 0.25
# A call has to have ended by so many times its limit, and so many seconds more.
_GRACE = 1.2, 5.0


def overtime(limit: float) -> float:
    """How many seconds a call may take beyond its limit."""
    return (_GRACE[0] - 1) * limit + _GRACE[1]


def check_provable(problem: Problem, watch: Watch) -> None:
    """Refuse a limit that is over before the simplest mechanism could be proved: that is better said at once."""
    limit, (n, m) = watch.limit, problem.shape
    if limit is not None and _LEAST_SECONDS * n * m > limit + overtime(limit):
        raise NotSupported(
            f"a design of {n} secrets and {m} actions within {limit:g} s: to prove the simplest one takes longer",
            [f"a time limit of {ceil(_LEAST_SECONDS * n * m)} s or more", *SMALLER],
        )


def kept_for_proof(problem: Problem, watch: Watch) -> float:
    """Seconds that solvers leave: what a proof takes, but not most of the limit unless the call would end late."""
    limit, needed = watch.limit, _proof_seconds(problem)
    return 0.0 if limit is None else min(needed, max(_MOST_PROVING * limit, needed - overtime(limit)))


def affords_proof(problem: Problem, watch: Watch) -> bool:
    """Whether a whole table of probabilities can still be proved in time."""
    limit = watch.limit
    return limit is None or watch.spent + _proof_seconds(problem) <= limit + overtime(limit)


def provable_outputs(problem: Problem, watch: Watch) -> int | None:
    """With how many outputs a table can still be proved in half of what is left; None where all of them can.

    These are never fewer than take a little longer than one.
    """
    if watch.limit is None or affords_proof(problem, watch):
        return None
    left = _FINDING * (watch.limit + overtime(watch.limit) - watch.spent)
    (n, m), pairs = problem.shape, len(problem.privacy.space.pairs.first)
    of_pairs, of_columns, of_entries, of_products = _PROOF_SECONDS
    least = of_pairs * pairs + _LEAST_SECONDS * n * m
    of_an_output = (of_columns * pairs + of_entries * n + of_products * n * m) * 2 / cores()
    return int(max(left - least, _BESIDE_ONE * least) / of_an_output)


def _proof_seconds(problem: Problem) -> float:
    """What repair and proof will take, roughly."""
    (n, m), pairs = problem.shape, len(problem.privacy.space.pairs.first)
    of_pairs, *shared = (s * k for s, k in zip(_PROOF_SECONDS, (pairs, pairs * m, n * m, n * m * m), strict=True))
    return float(of_pairs + sum(shared) * 2 / cores())
