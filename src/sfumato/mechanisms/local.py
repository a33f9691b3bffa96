"""Mechanisms of surveys under plain local privacy, whose outputs are sets of secrets: subset selection, unary encoding,
Hadamard response.

An output is likely for the secrets of its set, and α = e^{−εδ} times as likely for all others, δ being the smallest
distance. So they are private on every space, and made for those where all distances are one number; elsewhere they use
no more than the smallest distance allows, and ``design(prior, None, privacy, objective="shares")`` finds better ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, floor
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from sfumato.arguments import integer
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import NotSupported, counted
from sfumato.labels import text_of
from sfumato.mechanisms.proved import proved
from sfumato.mechanisms.response import least_ratio, two_valued
from sfumato.numbers import Array, object_array
from sfumato.privacy.type import PrivacyType, as_type

MOST_OUTPUTS = 5_000
"""Outputs up to which such a mechanism is built: all sets of twelve secrets, sets of five out of sixteen."""


def subset_selection(privacy: PrivacyType, size: int | None = None) -> Mechanism:
    """A set of ``size`` secrets, each one with the secret in it 1/α times as likely as each one without.

    On discrete spaces nothing has less total variance of estimated shares at the uniform distribution, if the size is
    the best one (Ye and Barg 2018; Wang et al. 2016). That is next to n/(e^ε + 1), and is taken if none is given. With
    one secret in a set it is random response. Outputs are named after their sets: ``a or b``.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> mechanism = subset_selection(PrivacyType(discrete(["a", "b", "c", "d"]), alpha="1/2"), size=2)
    >>> dict(zip(mechanism.outputs, map(str, mechanism.channel.matrix[0])))
    {'a or b': '2/9', 'a or c': '2/9', 'a or d': '2/9', 'b or c': '1/9', 'b or d': '1/9', 'c or d': '1/9'}
    """
    privacy = as_type(privacy)
    check_subsets(privacy, size)
    n, size = len(privacy.space), subset_size(privacy) if size is None else size
    sets = list(combinations(range(n), size))
    high = np.zeros((n, len(sets)), dtype=bool)
    high[np.array(sets).T, np.arange(len(sets))] = True
    return two_valued("subset_selection", privacy, least_ratio(privacy), high, set_names(high, privacy), size=size)


def subset_size(privacy: PrivacyType) -> int:
    """The size of sets for which subset selection has the least variance on a discrete space: next to n/(e^ε + 1).

    N times the total variance of estimated shares is (n − 1)²(n + (e^ε − 1)k)²/(n (e^ε − 1)² k (n − k)) for sets of k
    out of n secrets and the uniform distribution. Of two sizes that are equally good it is the smaller.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> [subset_size(PrivacyType(discrete(12), alpha=alpha)) for alpha in ("9/10", "1/2", "1/100")]
    [6, 4, 1]
    """
    privacy = as_type(privacy)
    n, ratio = len(privacy.space), least_ratio(privacy)
    if n == 1:
        return 1
    middle: Fraction | float = n * ratio / (1 + ratio)
    near = sorted({min(max(k, 1), n - 1) for k in (floor(middle), ceil(middle))})
    return min(near, key=lambda k: (n * ratio + (1 - ratio) * k) ** 2 / (k * (n - k)))


def unary_encoding(privacy: PrivacyType) -> Mechanism:
    """Every secret has a bit: that of the secret is set with probability 1/2, each other one with α/(1 + α).

    The optimised unary encoding of Wang, Blocki, Li and Jha 2017. There are 2ⁿ outputs, named after the secrets whose
    bits are set: ``a or b``, and ``none``.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> mechanism = unary_encoding(PrivacyType(discrete(["a", "b"]), alpha="1/3"))
    >>> dict(zip(mechanism.outputs, map(str, mechanism.channel.matrix[0])))
    {'none': '3/8', 'a': '3/8', 'b': '1/8', 'a or b': '1/8'}
    """
    privacy = as_type(privacy)
    check_bits(privacy)
    n, ratio = len(privacy.space), least_ratio(privacy)
    inside = (np.arange(2**n)[None, :] >> np.arange(n)[:, None]) % 2 == 1
    others = inside.sum(axis=0)[None, :] - inside
    powers: list[Any] = [ratio**k / (2 * (1 + ratio) ** (n - 1)) for k in range(n + 1)]
    exact = isinstance(ratio, Fraction)
    chances: Array = object_array(powers) if exact else np.array(powers)
    return proved("unary_encoding", privacy, chances[others], set_names(inside, privacy))


def hadamard_response(privacy: PrivacyType) -> Mechanism:
    """A row of a Hadamard matrix: likely are those with +1 in the column of the secret, half of a block of rows.

    Acharya, Sun and Zhang 2019: as few outputs as there are secrets, up to a constant. There are up to B blocks, the
    largest power of two below e^ε and 2n; each is a Sylvester matrix of b rows, the least power of two with
    B(b − 1) ≥ n, whose first column says nothing and is not used. Blocks without a secret are left out, as in the
    authors' program.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> mechanism = hadamard_response(PrivacyType(discrete(3), alpha="1/2"))
    >>> mechanism.outputs
    ('row 0', 'row 1', 'row 2', 'row 3')
    >>> [[str(p) for p in row] for row in mechanism.channel.matrix]
    [['1/3', '1/6', '1/3', '1/6'], ['1/3', '1/3', '1/6', '1/6'], ['1/3', '1/6', '1/6', '1/3']]
    """
    privacy = as_type(privacy)
    check_rows(privacy)
    n = len(privacy.space)
    blocks, rows = _blocks(privacy)
    sylvester = hadamard(rows) > 0
    high = np.zeros((n, blocks * rows), dtype=bool)
    for x in range(n):
        block, column = divmod(x, rows - 1)
        high[x, block * rows : (block + 1) * rows] = sylvester[column + 1]
    names = [f"row {row}" for row in range(high.shape[1])]
    return two_valued("hadamard_response", privacy, least_ratio(privacy), high, names, blocks=blocks)


def check_subsets(privacy: PrivacyType, size: int | None = None) -> None:
    """Refuse subset selection where there are too many sets, or no set of this size but all secrets."""
    privacy = as_type(privacy)
    n = len(privacy.space)
    size = subset_size(privacy) if size is None else integer(size, "the size of a set", 1, max(1, n - 1))
    _few(f"sets of {size} out of {n} secrets", comb(n, size), "a smaller size", "hadamard_response")


def check_bits(privacy: PrivacyType) -> None:
    """Refuse unary encoding where there are too many sets."""
    n = len(as_type(privacy).space)
    _few(f"all sets of {n} secrets", 2**n, "hadamard_response")


def check_rows(privacy: PrivacyType) -> None:
    """Refuse Hadamard response where there are too many rows."""
    privacy = as_type(privacy)
    blocks, rows = _blocks(privacy)
    _few(f"{counted(blocks, 'Hadamard matrix', 'Hadamard matrices')} of {rows} rows", blocks * rows)


def _few(what: str, outputs: int, *instead: str) -> None:
    if outputs > MOST_OUTPUTS:
        raise NotSupported(f"{what} as outputs of a table", [f"at most {MOST_OUTPUTS:,} outputs", *instead])


def _blocks(privacy: PrivacyType) -> tuple[int, int]:
    """How many blocks hold a secret, and how many rows each has."""
    n, ratio = len(privacy.space), least_ratio(privacy)
    most = 1
    while 2 * most * ratio < 1 and most < n:  # 2·most is below e^ε and below 2n
        most *= 2
    rows = 2
    while most * (rows - 1) < n:
        rows *= 2
    return -(-n // (rows - 1)), rows


def set_names(inside: np.ndarray[Any, Any], privacy: PrivacyType) -> Iterable[str]:
    """Sets are called after their members; those of one name are numbered."""
    texts = [text_of(label) for label in privacy.secrets]
    names: dict[str, None] = {}
    for members in inside.T:
        plain = " or ".join(texts[x] for x in np.flatnonzero(members)) or "none"
        name, count = plain, 1
        while name in names:
            count += 1
            name = f"{plain} ({count})"
        names[name] = None
    return names
