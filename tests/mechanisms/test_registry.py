"""The list of known mechanisms."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.mechanisms import MECHANISMS
from sfumato.mechanisms.registry import exists_on_box, table_on_box

LINE = sf.PrivacyType(sf.line(4), alpha="1/2")
SQUARE = sf.PrivacyType(sf.grid(3, 3), epsilon=1)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("privacy", [LINE, SQUARE], ids=["line", "square"])
def test_what_applies_is_built_and_proved_and_what_does_not_is_refused(name: str, privacy: sf.PrivacyType) -> None:
    known = MECHANISMS[name]
    assert known.name == name and known.spaces and known.optimal
    if known.applies(privacy):
        assert sf.verify(known.build(privacy))
    else:
        with pytest.raises(NotSupported):
            known.build(privacy)


def test_each_applies_somewhere_and_none_everywhere_alike() -> None:
    flat = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    cube = sf.PrivacyType(sf.hamming(2), alpha="1/2")
    pair = sf.PrivacyType(sf.line(2), alpha="1/2")
    for known in MECHANISMS.values():
        assert any(known.applies(privacy) for privacy in (LINE, SQUARE, flat, cube, pair)), known.name


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_list_tells_what_is_there_for_all_points_of_a_box(name: str) -> None:
    strip = sf.PrivacyType(sf.box(3, step=1), epsilon=1)
    known = MECHANISMS[name]
    verdict = exists_on_box(known, strip)
    if verdict:
        table = table_on_box(known, strip)
        assert table.rate <= 1 and sf.verify(table)
    else:
        with pytest.raises(NotSupported, match=name):
            table_on_box(known, strip)
    assert not (known.points == "" and verdict) and (known.points != "noise" or verdict)
