"""New channels from old ones. Labels travel with every operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sfumato.arguments import answer_of, items
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import secrets_of
from sfumato.errors import InvalidInput, Mismatch, shown
from sfumato.numbers import Number, as_written, is_exact, product, together
from sfumato.spaces.finite import label_place

__all__ = ["cascade", "choice", "oblivious", "parallel", "remap", "restrict"]


def cascade(first: Channel, second: Channel) -> Channel:
    """Post-processing: the output of ``first`` is the secret of ``second``; the matrix is C·D.

    Examples
    --------
    >>> noisy = Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> cascade(noisy, noisy).matrix[0].tolist()
    [Fraction(5, 8), Fraction(3, 8)]
    """
    first, second = as_channel(first), as_channel(second)
    if first.outputs != second.secrets:
        raise Mismatch("outputs of the first channel against secrets of the second", first.outputs, second.secrets)
    matrix = product(first.matrix, second.matrix)
    if not is_exact(matrix):
        # each row is a convex sum of rows; rounding may take it past the tolerance of a long sum
        matrix = matrix / matrix.sum(axis=1)[:, None]
    return Channel(first.secrets, matrix, second.outputs)


def remap(channel: Channel, function: Callable[[Any], Any] | dict[Any, Any]) -> Channel:
    """Deterministic post-processing: output y becomes f(y); columns with one image add up."""
    channel = as_channel(channel)
    image = function.__getitem__ if isinstance(function, Mapping) else function
    return cascade(channel, Channel.deterministic(channel.outputs, image))


def parallel(first: Channel, second: Channel) -> Channel:
    """Both channels on the same secret, independently; outputs are pairs."""
    first, second = as_channel(first), as_channel(second)
    check_secrets("two parallel channels", first, second)
    left, right = together(first.matrix, second.matrix)
    table = left[:, :, None] * right[:, None, :]
    matrix = table.reshape(len(first.secrets), -1)
    if not is_exact(matrix):
        matrix = matrix / matrix.sum(axis=1)[:, None]
    return Channel(first.secrets, matrix, tuple((y, z) for y in first.outputs for z in second.outputs))


def choice(probability: Number, first: Channel, second: Channel) -> Channel:
    """External choice M ⊕_p M′: use M with probability p, else M′, and tell which.

    Outputs are tagged ``("first", y)`` and ``("second", y)``.
    """
    first, second = as_channel(first), as_channel(second)
    check_secrets("the channels of a choice", first, second)
    p = as_written(probability, "the probability of a choice")
    if not 0 <= p <= 1:
        raise InvalidInput(f"the probability of a choice lies in [0, 1], found {shown(probability)}")
    share = np.array([p, 1 - p], dtype=object)
    share, left, right = together(share, first.matrix, second.matrix)
    matrix = np.concatenate([share[0] * left, share[1] * right], axis=1)
    outputs = [("first", y) for y in first.outputs] + [("second", y) for y in second.outputs]
    return Channel(first.secrets, matrix, tuple(outputs))


def restrict(channel: Channel, secrets: Iterable[Any]) -> Channel:
    """The restriction M↓X′: rows of the given secrets only."""
    channel, chosen = as_channel(channel), tuple(items(secrets, "the secrets of a restriction"))
    rows = [label_place(s, channel.secrets, "the secrets of a restriction") for s in chosen]
    return Channel(chosen, channel.matrix[rows], channel.outputs)


def oblivious(mechanism: Channel, query: Callable[[Any], Any], databases: Any) -> Channel:
    """H ∘ f: answer the query, then disclose the answer by H; the secrets are databases."""
    mechanism, labels = as_channel(mechanism), secrets_of(databases)
    answers = [answer_of(query, "the query", db) for db in labels]
    rows = [label_place(answer, mechanism.secrets, "answers of the query") for answer in answers]
    return Channel(labels, mechanism.matrix[rows], mechanism.outputs)
