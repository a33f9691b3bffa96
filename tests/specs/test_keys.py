"""What a spec says of its kinds and keys."""

from __future__ import annotations

from sfumato.specs.keys import kind_words, kinds_of
from sfumato.specs.schema import LineSpec, SpaceSpec
from sfumato.specs.schema_stakes import LossSpec, ObjectiveSpec


def test_every_kind_of_a_union_has_its_model_and_a_line() -> None:
    assert kinds_of(SpaceSpec)["line"] is LineSpec
    assert kinds_of(LossSpec)["bin"] is kinds_of(LossSpec)["squared"]
    for union in (SpaceSpec, LossSpec, ObjectiveSpec):
        assert kinds_of(union).keys() == kind_words(union).keys()
        assert all(kind_words(union).values())
