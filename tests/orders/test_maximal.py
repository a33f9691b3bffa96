from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch
from sfumato.orders.maximal import hasse, maximal_channels
from strategies import channels


def response(p: str) -> sf.Channel:
    q = Fraction(p)
    return sf.Channel([0, 1], [[q, 1 - q], [1 - q, q]])


def test_a_chain_with_equals() -> None:
    swapped = sf.Channel([0, 1], [["1/3", "2/3"], ["2/3", "1/3"]])
    found = hasse(
        {"none": sf.Channel.constant([0, 1]), "weak": response("3/5"), "two": response("2/3"), "owt": swapped}
    )
    assert found.classes == (("none",), ("weak",), ("two", "owt"))
    assert found.covers == ((0, 1), (1, 2)) and found.maximal == (2,) and found.minimal == (0,)
    assert found.layers == (0, 1, 2) and not found.unclear
    assert maximal_channels({"none": sf.Channel.constant([0, 1]), "weak": response("3/5")}) == ("weak",)


def test_two_maximal_ones() -> None:
    left = sf.Channel([0, 1], [["1/2", "1/2"], [0, 1]])
    right = sf.Channel([0, 1], [[1, 0], ["1/2", "1/2"]])
    found = hasse([left, right, sf.Channel.constant([0, 1])])
    assert found.maximal == (0, 1) and set(found.covers) == {(2, 0), (2, 1)}
    assert maximal_channels([left, right]) == ("0", "1")


@given(st.lists(channels(secrets=range(2), outputs=2), min_size=1, max_size=5))
@settings(max_examples=30)
def test_against_every_pair(given_channels: list[sf.Channel]) -> None:
    found = hasse(given_channels)
    n = len(given_channels)
    below = np.array([[bool(sf.refines(given_channels[i], given_channels[j])) for j in range(n)] for i in range(n)])
    place = {int(name): k for k, names in enumerate(found.classes) for name in names}
    reach = np.eye(len(found.classes), dtype=bool)
    for _ in found.classes:
        for low, high in found.covers:
            reach[low] |= reach[high]
    for i in range(n):
        for j in range(n):
            assert below[i, j] == reach[place[i], place[j]]
        tops = all(below[j, i] or not below[i, j] for j in range(n))
        assert tops == (place[i] in found.maximal)
    for (low, high), factor in found.factors.items():
        made = sf.cascade(given_channels[int(high)], factor.post_processing)
        assert (made.matrix == given_channels[int(low)].matrix).all()


def test_what_cannot_be_decided_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.orders import maximal as module
    from sfumato.verdict import undecided

    real = module.refines
    pair = (response("2/3"), response("3/5"))

    def shy(b: sf.Channel, a: sf.Channel) -> sf.Verdict:
        return undecided("shy") if b is pair[0] else real(b, a)

    monkeypatch.setattr(module, "refines", shy)
    found = hasse({"two": pair[0], "weak": pair[1]})
    assert found.unclear == (("two", "weak"),) and found.covers == ((1, 0),)
    assert found.maximal == ()


def test_mistakes() -> None:
    with pytest.raises(InvalidInput, match="no channels"):
        hasse([])
    with pytest.raises(InvalidInput, match="several channels"):
        hasse(response("2/3"))  # type: ignore[arg-type]
    with pytest.raises(Mismatch):
        hasse([response("2/3"), sf.Channel.constant([0, 1, 2])])
