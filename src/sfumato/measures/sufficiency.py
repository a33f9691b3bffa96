"""The axiom of sufficiency: does no post-processing raise a measure?

A measure μ of utility should never prefer a channel to one from which it can be simulated: μ(C) ≥ μ(C·A) for every
post-processing A (Kifer and Lin 2012, Axiom 3.1.4). A theorem can say that it does not, and is then cited with what was
checked of its hypotheses. Otherwise small channels are searched, in an order that begins with the simplest ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from sfumato.arguments import integer
from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.composition import cascade
from sfumato.errors import InvalidInput, shown
from sfumato.measures.branching import MOST_TRIES, exceeds, number_from
from sfumato.verdict import Verdict, fails, holds, undecided

_MOST_STRUCTURED = 4000  # So many pairs of a channel and a post-processing are tried before random ones.
_PARTS = 3  # The entries of the first channels are multiples of one over this.


@dataclass(frozen=True)
class SufficiencyGround:
    """A theorem, and for each of its hypotheses why it holds here."""

    theorem: str
    hypotheses: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.theorem}: {'; '.join(self.hypotheses)}"


_MOST_SECRETS = 100  # A random channel has at most so many secrets.


@dataclass(frozen=True, eq=False)
class UtilityMeasure:
    """A number for each channel, larger being better.

    Parameters
    ----------
    ground
        Why it respects sufficiency, where that is known. Only who has checked the hypotheses gives one.
    outputs
        The labels its channels must have, for measures that read outputs as actions.
    secrets
        The secrets of its channels, if it depends on them.
    square
        Whether it is about channels with at most as many outputs as secrets.
    ordering
        A rational that is larger exactly where the measure is larger, for measures that are irrational.
    note
        What is known of it beside, said where the search for a counter-example ends.
    """

    name: str
    value: Callable[[Channel], Any]
    ground: SufficiencyGround | None = None
    outputs: tuple[Any, ...] | None = None
    secrets: tuple[Any, ...] | None = None
    square: bool = False
    ordering: Callable[[Channel], Any] | None = None
    note: str = ""

    def __call__(self, channel: Channel) -> Any:
        """The measure of one channel."""
        return self.value(as_channel(channel))

    def compared(self, channel: Channel) -> Any:
        """What two channels are compared by."""
        return (self.ordering or self.value)(as_channel(channel))


def respects_sufficiency(
    measure: UtilityMeasure | Callable[[Channel], Any], *, secrets: int = 2, tries: int = 2000, seed: int = 0
) -> Verdict:
    """Does no post-processing raise the measure?

    *Holds* where a theorem says so; the witness is a :class:`SufficiencyGround`. Otherwise channels and
    post-processings are tried: *fails* comes with (C, A), a pair with μ(C·A) > μ(C); *undecided* says how far it was
    searched. Rational values decide exactly; floats must differ by more than a billionth.

    Parameters
    ----------
    secrets
        Channels with two secrets are tried, and random ones with up to so many; a measure that names its secrets has
        its own.
    tries
        Random pairs.

    Examples
    --------
    >>> from sfumato.measures.utility import dobrushin, gram_determinant
    >>> bool(respects_sufficiency(dobrushin))
    True
    >>> verdict = respects_sufficiency(gram_determinant)
    >>> channel, processing = verdict.witness
    >>> gram_determinant(cascade(channel, processing)) > gram_determinant(channel)
    True
    """
    if not isinstance(measure, UtilityMeasure):
        if not callable(measure):
            raise InvalidInput(f"a measure is a function of channels, found {shown(measure)}")
        name = getattr(measure, "__name__", "<")
        measure = UtilityMeasure("the measure" if name.startswith("<") else name, measure)
    if measure.ground is not None:
        return holds(str(measure.ground), measure.ground)
    secrets, tries = integer(secrets, "secrets", 2, _MOST_SECRETS), integer(tries, "tries", 0, MOST_TRIES)
    seed = integer(seed, "the seed")
    structured = 0
    for channel, processings in _structured(measure):
        before = _value(measure, channel)
        for processing in processings:
            structured += 1
            verdict = _raised(measure, channel, before, processing)
            if verdict is not None:
                return verdict
    random = Random(seed)
    for _ in range(tries):
        channel, processing = _random_pair(measure, random.randint(2, secrets), random)
        verdict = _raised(measure, channel, _value(measure, channel), processing)
        if verdict is not None:
            return verdict
    size = f"{len(measure.secrets)} secrets" if measure.secrets else f"up to {secrets} secrets"
    return undecided(
        f"{measure.note}no counter-example among {structured} pairs of a channel with entries in thirds and a "
        f"post-processing that merges or splits outputs, and {tries} random pairs with {size}",
        (structured, tries),
    )


def _value(measure: UtilityMeasure, channel: Channel) -> Any:
    return number_from(measure.compared, measure.name, channel, "channel", shown(channel))


def _raised(measure: UtilityMeasure, channel: Channel, before: Any, processing: Channel) -> Verdict | None:
    """The verdict if post-processing raises the measure."""
    result = cascade(channel, processing)
    if not exceeds(_value(measure, result), before):
        return None
    return fails(f"post-processing raises {measure.name} from {measure(channel)} to {measure(result)}",
                 (channel, processing))  # fmt: skip


# ----------------------------------------------------------------- channels to try


def _structured(measure: UtilityMeasure) -> Iterator[tuple[Channel, list[Channel]]]:
    """Channels with entries in thirds, after the one that is right with probability 2/3, and functions of outputs."""
    labels = measure.secrets or (0, 1)
    n, left = len(labels), _MOST_STRUCTURED
    widths = [len(measure.outputs)] if measure.outputs is not None else [n] if measure.square else [n, n + 1]
    for width in widths:
        outputs = measure.outputs or tuple(range(width))
        processings = _functions(outputs, measure.outputs is not None)
        processings += [] if measure.square or measure.outputs is not None else _splits(outputs)
        for table in _tables(n, width):
            left -= len(processings)
            if left < 0:
                return
            yield Channel(labels, table, outputs), processings


def _tables(n: int, width: int) -> Iterator[list[list[Fraction]]]:
    """The truth with probability 2/3, then rows in thirds, all together or in a fixed order."""
    right, wrong = (Fraction(2, 3), Fraction(1, 3 * (width - 1))) if width > 1 else (Fraction(1), Fraction(0))
    yield [[right if y == x % width else wrong for y in range(width)] for x in range(n)]
    rows = [
        [Fraction(part, _PARTS) for part in parts]
        for parts in product(range(_PARTS + 1), repeat=width)
        if sum(parts) == _PARTS
    ]
    for table in product(rows, repeat=n):
        yield list(table)


def _functions(outputs: tuple[Any, ...], named: bool) -> list[Channel]:
    """Functions of an output. Where names do not matter: only which outputs are merged; else to the same names."""
    width = len(outputs)
    if width > 4:  # constants and merging two outputs: all functions would be too many
        images = [[k] * width for k in range(width if named else 1)]
        images += [[k if y == j else y for y in range(width)] for k in range(width) for j in range(k + 1, width)]
    elif named:
        images = [list(image) for image in product(range(width), repeat=width)]
    else:  # numbered in the order of their first output
        images = [
            list(image) for image in product(range(width), repeat=width)
            if all(y <= max(image[:k], default=-1) + 1 for k, y in enumerate(image))
        ]  # fmt: skip
    processings = []
    for image in images:
        if image != list(range(width)):
            names = outputs if named else tuple(range(max(image) + 1))
            processings.append(Channel(outputs, [[int(z == y) for z in range(len(names))] for y in image], names))
    return processings


def _splits(outputs: tuple[Any, ...]) -> list[Channel]:
    """One output becomes two, by the toss of a coin: this tells nothing more and nothing less."""
    width = len(outputs)
    half = [Fraction(1, 2), Fraction(1, 2)]
    return [
        Channel(outputs, [[int(z == y) for z in range(width)] + [0] if y != k else
                          [0] * k + half[:1] + [0] * (width - k - 1) + half[1:] for y in range(width)])
        for k in range(width)
    ]  # fmt: skip


def _random_pair(measure: UtilityMeasure, secrets: int, random: Random) -> tuple[Channel, Channel]:
    labels = measure.secrets or tuple(range(secrets))
    if measure.outputs is not None:
        outputs = images = measure.outputs
    else:
        outputs = tuple(range(len(labels) if measure.square else len(labels) + random.randint(0, 1)))
        images = outputs if measure.square else tuple(range(random.randint(1, len(outputs) + 1)))
    channel = Channel(labels, [_random_row(len(outputs), random) for _ in labels], outputs)
    return channel, Channel(outputs, [_random_row(len(images), random, sharp=True) for _ in outputs], images)


def _random_row(size: int, random: Random, sharp: bool = False) -> list[Fraction]:
    weights = [random.choice((0, 1, 2, 3)) for _ in range(size)]
    if not any(weights) or (sharp and random.random() < 0.7):
        weights = [0] * size
        weights[random.randrange(size)] = 1
    return [Fraction(w, sum(weights)) for w in weights]
