"""Verbs that nouns offer as methods."""

from __future__ import annotations

import pandas
import pytest

import sfumato as sf
from sfumato import verbs


def test_a_mechanism_releases_a_table_by_the_verb_of_the_front_door() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    table = pandas.DataFrame({"x": [0, 1, 2, 1]})
    released = sf.geometric(privacy).release(table, "x")
    assert list(released.columns) == ["x"] and set(released["x"]) <= {0, 1, 2}
    assert verbs.verb("release_table") is sf.release_table


def test_a_verb_that_nobody_lends_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_verb"):
        verbs.verb("no_such_verb")
