"""Privacy definitions as sets of mechanisms, among them some that are no predicate on events and break the axioms.

A privacy definition is a set of channels (Kifer and Lin 2012, Definition 2.0.2). Two axioms ask for consistency:
what is kept by a channel is kept after post-processing (2.1.1), and by a channel that is chosen by chance from two
that keep it (2.1.2). A :class:`Breach` is a case where one does not hold, small enough to be checked by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sfumato.arguments import integer
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.composition import cascade
from sfumato.errors import InvalidEpsilon, Mismatch, NotSupported, expect
from sfumato.numbers import Array, Number
from sfumato.privacy.predicates import Predicate, all_of, as_predicate
from sfumato.privacy.predicates_curves import growth, probability
from sfumato.privacy.predicates_satisfaction import all_events, satisfies_predicate
from sfumato.verdict import Verdict

TRANSFORMATION = "transformation invariance (Axiom 2.1.1)"
CONVEXITY = "convexity (Axiom 2.1.2)"
EXISTENCE = "no channel satisfies the definition"


@dataclass(frozen=True, eq=False)
class Breach:
    """Channels that keep a definition and a result that does not, though an axiom says that it should.

    Parameters
    ----------
    axiom
        Which axiom is broken.
    mechanisms
        One channel for post-processing, two for a choice, none if nothing keeps the definition.
    post_processing, weight
        How the result comes about: the first channel followed by this one, or the first with this probability.
    result
        The channel that breaks the definition.
    exempt
        Whether the impossible and the certain event are exempt; a definition that refuses those is kept by nothing.
    """

    axiom: str
    mechanisms: tuple[Channel, ...]
    result: Channel
    post_processing: Channel | None = None
    weight: Fraction | None = None
    exempt: bool = False


@dataclass(frozen=True, eq=False)
class Definition:
    """A privacy definition that says of a whole channel whether it belongs.

    ``keeps`` decides; ``suspects`` gives breaches to be tried first; ``theorem`` names the reason why the axioms
    hold, where one is known; ``secrets`` are those that its channels have.
    """

    name: str
    keeps: Callable[[Channel], bool]
    secrets: tuple[Any, ...] = (0, 1)
    suspects: Callable[[], Iterable[Breach]] = tuple
    theorem: str = ""

    def __repr__(self) -> str:
        return f"Definition({self.name})"


def mixture(weight: Number, first: Channel, second: Channel) -> Channel:
    """The first channel with some probability, else the second, on the same outputs and without telling which.

    Examples
    --------
    >>> mixture("1/2", Channel([0], [[1, 0]]), Channel([0], [[0, 1]])).matrix.tolist()
    [[Fraction(1, 2), Fraction(1, 2)]]
    """
    p = probability(weight, "a weight")
    first, second = as_channel(first), as_channel(second)
    check_secrets("the channels of a mixture", first, second)
    if first.outputs != second.outputs:
        raise Mismatch("outputs of a mixture", first.outputs, second.outputs)
    return Channel(first.secrets, p * first.matrix + (1 - p) * second.matrix, first.outputs)


def transformed(channel: Channel, post_processing: Channel) -> Breach:
    """What would be a breach of transformation invariance."""
    return Breach(TRANSFORMATION, (channel,), cascade(channel, post_processing), post_processing)


def mixing_breach(weight: Fraction, first: Channel, second: Channel) -> Breach:
    """What would be a breach of convexity."""
    return Breach(CONVEXITY, (first, second), mixture(weight, first, second), weight=weight)


def breaks(breach: Breach, definition: Predicate | Definition) -> bool:
    """Whether a breach is one: what goes in keeps the definition, the result is made as stated and does not.

    Examples
    --------
    >>> example = probabilistic(delta="1/100", alpha="1/2")
    >>> all(breaks(breach, example) for breach in example.suspects())
    True
    """
    breach = expect(breach, Breach, "a breach", "satisfies_axioms(definition) finds one")
    if not isinstance(definition, Definition):
        definition = as_predicate(definition)
    if not all(_kept(mechanism, definition, breach.exempt) is True for mechanism in breach.mechanisms):
        return False
    if breach.axiom == TRANSFORMATION:
        assert breach.post_processing is not None
        result = cascade(breach.mechanisms[0], breach.post_processing)
    elif breach.axiom == CONVEXITY:
        assert breach.weight is not None
        result = mixture(breach.weight, *breach.mechanisms)
    else:
        result = breach.result
    same = result.shape == breach.result.shape and bool((result.matrix == breach.result.matrix).all())
    return same and _kept(breach.result, definition, breach.exempt) is False


def _kept(channel: Channel, definition: Predicate | Definition, exempt: bool) -> bool | None:
    if isinstance(definition, Definition):
        return bool(definition.keeps(channel))
    events = all_events(channel, 0, 1)
    inside = [(a, b) for event, a, b in events if not exempt or 0 < len(event) < channel.shape[1]]
    return all_of(*(definition.allows(a, b) for a, b in inside))


def probabilistic(
    *, delta: Number, epsilon: Number | None = None, alpha: Number | None = None, slack: Number = 0
) -> Definition:
    """ε-privacy with probability 1 − δ: outputs that break it have probability at most δ, for each secret.

    With ``slack`` the outputs that remain need only keep (ε, slack)-privacy, as events: the form that Kifer and Lin
    (section 2.2) say probabilistic privacy and (c, ε, δ)-privacy have in common. They show on an example of Mironov's
    that it is not consistent. For all 0 < δ with δ + slack < 1 there is one of the same form: a first output takes
    what is left, a second is at the limit, and two are told apart entirely; merging the second with one of these
    breaks the limit with the probability of both.

    Examples
    --------
    >>> definition = probabilistic(delta="1/100", alpha="1/2", slack="1/20")
    >>> merged = next(iter(definition.suspects()))
    >>> [definition.keeps(channel) for channel in (*merged.mechanisms, merged.result)]
    [True, False]
    """
    factor, most, spared = growth(epsilon, alpha), probability(delta, "delta"), probability(slack, "slack")

    def within(p: Fraction, q: Fraction) -> bool:
        return factor.sign(p - spared, q) <= 0 and factor.sign(q - spared, p) <= 0

    def excused(p: Array, q: Array) -> bool:
        """Whether outputs of probability δ can be left out so that the rest is private."""
        bad = [y for y in range(len(p)) if factor.sign(p[y], q[y]) > 0 or factor.sign(q[y], p[y]) > 0]
        if not spared or sum(p[bad]) <= most:
            return bool(sum(p[bad]) <= most)
        if len(bad) > _MOST_LEFT_OUT:
            raise NotSupported(f"privacy but for some of {len(bad)} outputs", [f"{_MOST_LEFT_OUT} that break it"])
        for kept in product((False, True), repeat=len(bad)):
            rest = [y for y, keep in zip(bad, kept, strict=True) if keep]
            more, less = ([y for y in rest if (p[y] > q[y]) is side] for side in (True, False))
            lost = sum((p[y] for y, keep in zip(bad, kept, strict=True) if not keep), Fraction(0))
            if lost <= most and all(within(Fraction(sum(p[part])), Fraction(sum(q[part]))) for part in (more, less)):
                return True
        return False

    def keeps(channel: Channel) -> bool:
        rows = channel.to_rationals().matrix
        return all(excused(rows[x], rows[z]) for x, z in np.argwhere(~np.eye(len(rows), dtype=bool)))

    def suspects() -> Iterable[Breach]:
        ratio, x = factor.bounds(64)[0], Fraction(1, 10)
        for _ in range(64):
            none, limit = Fraction(0), ratio * x + spared
            rows = [[1 - x - most, x, most, none], [1 - limit - most, limit, none, most]]
            if rows[1][0] > 0:
                channel = Channel([0, 1], rows, ["A", "B", "C", "D"])
                breach = transformed(channel, _merging(channel, {"B": "E", "D": "E"}))
                if keeps(channel) and not keeps(breach.result):
                    yield breach
                    return
            x /= 2

    theorem = ""
    if 1 in (most, spared):
        theorem = "it allows every channel"
    elif most == 0:
        theorem = f"without exceptions it is ε-differential privacy{', up to a slack' if spared else ''}"
    name = f"({factor.epsilon}, {spared})" if spared else factor.epsilon
    return Definition(f"{name}-privacy with probability {1 - most}", keeps, (0, 1), suspects, theorem)


def strict(*, epsilon: Number | None = None, alpha: Number | None = None) -> Definition:
    """ε-privacy with < in place of ≤: M(x)(y) < e^ε M(x′)(y) for all secrets and outputs, unless both are 0.

    It satisfies both axioms and has no maximally sufficient mechanism (Kifer and Lin, section 3.1): above each of its
    mechanisms there is another, :func:`~sfumato.privacy.decomposition.more_sufficient`. Asked of all events, as it is
    printed, the inequality fails for the impossible one, 0 < 0, and nothing would be left to compare.

    Examples
    --------
    >>> definition = strict(alpha="1/2")
    >>> response = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> definition.keeps(response), definition.keeps(Channel([0, 1], [["3/5", "2/5"], ["2/5", "3/5"]]))
    (False, True)
    """
    factor = growth(epsilon, alpha)
    if factor.rational == 1:
        raise InvalidEpsilon("nothing is strictly 0-private: epsilon must be positive")

    def keeps(channel: Channel) -> bool:
        columns = [column for column in channel.to_rationals().matrix.T if (column != 0).any()]
        return all(factor.sign(max(column), min(column)) < 0 for column in columns)

    theorem = "sums of strict inequalities are strict"
    return Definition(f"strict {factor.epsilon}-privacy", keeps, (0, 1), theorem=theorem)


def k_anonymity(k: int) -> Definition:
    """Outputs are tables, and every combination of quasi-identifiers in one occurs at least k times.

    A table is the tuple of the quasi-identifiers of its records, in any form. For k > 1 transformation invariance is
    broken: who replaces every quasi-identifier by a number of its own tells less, and the result is refused (Kifer and
    Lin, section 2.2).

    Examples
    --------
    >>> pairs = k_anonymity(2)
    >>> told = Channel(["x", "z"], [["2/3", "1/3"], ["1/3", "2/3"]], [("15*", "15*"), ("15*", "15*", "90*", "90*")])
    >>> pairs.keeps(told), next(iter(pairs.suspects())).result.outputs
    (True, ((0, 1),))
    """
    size = integer(k, "k", 1, _MOST_PARTS)

    def anonymous(table: Any) -> bool:
        return size == 1 or (isinstance(table, tuple) and min(Counter(table).values(), default=size) >= size)

    def keeps(channel: Channel) -> bool:
        occurs = (channel.matrix != 0).any(axis=0)
        return all(anonymous(table) for table, seen in zip(channel.outputs, occurs, strict=True) if seen)

    def suspects() -> Iterable[Breach]:
        together, alone = ("*",) * size, tuple(range(size))
        yield transformed(Channel((0, 1), [[1], [1]], [together]), Channel([together], [[1]], [alone]))

    theorem = "it asks for nothing" if size == 1 else ""
    return Definition(f"{size}-anonymity", keeps, (0, 1), suspects, theorem)


def _merging(channel: Channel, names: dict[str, str]) -> Channel:
    """The post-processing that renames some outputs."""
    return Channel.deterministic(channel.outputs, lambda y: names.get(y, y))


def k_of_n_outputs(k: int, n: int, *, epsilon: Number | None = None, alpha: Number | None = None) -> Definition:
    """At least k of every n outputs keep ε-differential privacy.

    For 0 < k < n it breaks transformation invariance: one more copy of a bad output, which tells nobody anything,
    tips the scales.
    """
    share, factor = _share(k, n), growth(epsilon, alpha)

    def keeps(channel: Channel) -> bool:
        columns = [column for column in channel.to_rationals().matrix.T if (column != 0).any()]
        good = sum(factor.sign(max(column), min(column)) <= 0 for column in columns)
        return bool(good >= share * len(columns))

    def suspects() -> Iterable[Breach]:
        hidden = Fraction(1, 2)
        for _ in range(32):
            rows = [
                [hidden / (n - k)] * (n - k) + [(1 - hidden) / k] * k,
                [Fraction(0)] * (n - k) + [Fraction(1, k)] * k,
            ]
            yield transformed(Channel([0, 1], rows), doubling(n))
            hidden /= 2

    trivial = {0: "it asks for nothing", n: "it is ε-differential privacy, which single outputs decide"}
    name = f"{k} of {n} outputs keep {factor.epsilon}-privacy"
    return Definition(name, keeps, (0, 1), suspects, trivial.get(k, ""))


def doubling(n: int) -> Channel:
    """Output 0 becomes one of two, by a coin."""
    rows = np.eye(n, n + 1, dtype=np.int64).astype(object)
    rows[0, 0] = rows[0, n] = Fraction(1, 2)
    return Channel(range(n), rows)


def k_of_n_pairs(k: int, n: int, predicate: Predicate) -> Definition:
    """Secrets come in n pairs of neighbours (0, 1), (2, 3), …, and the predicate holds for at least k of them.

    For 0 < k < n it breaks convexity: of two channels that each tell n − k pairs apart, but not the same ones, and the
    others as far as is allowed, one is chosen by chance. What comes out tells more pairs apart than allowed.
    """
    base = as_predicate(predicate)
    share = _share(k, n)
    pairs = [(2 * i, 2 * i + 1) for i in range(n)]

    def holds_for(channel: Channel, pair: tuple[int, int]) -> bool:
        verdict: Verdict = satisfies_predicate(channel, base, [pair, pair[::-1]])
        return verdict.decided and bool(verdict)

    def keeps(channel: Channel) -> bool:
        return sum(holds_for(channel, pair) for pair in pairs) >= share * n

    def telling(revealed: set[int]) -> Channel:
        allowed = base.bounds(0)[0] if base.has_curve else Fraction(0)
        apart = [Fraction(1) if x // 2 in revealed else allowed for x in range(2 * n)]
        return Channel(range(2 * n), [[1 - x % 2 * t, x % 2 * t] for x, t in enumerate(apart)])

    def suspects() -> Iterable[Breach]:
        yield mixing_breach(Fraction(1, 2), telling(set(range(n - k))), telling(set(range(k, n))))

    trivial = {0: "it asks for nothing", n: f"every pair keeps {base.name}" if base.proved else ""}
    return Definition(
        f"{k} of {n} pairs keep {base.name}", keeps, tuple(range(2 * n)), suspects, trivial.get(k, "")
    )  # fmt: skip


def _share(k: int, n: int) -> Fraction:
    n = integer(n, "the n of k of n", 1, _MOST_PARTS)
    return Fraction(integer(k, "the k of k of n", 0, n), n)


_MOST_LEFT_OUT = 12  # Which of so many outputs to leave out is tried out, 4,096 ways.
# Counter-examples are tables with as many outputs or pairs as a definition counts, so there is a limit.
_MOST_PARTS = 10_000
