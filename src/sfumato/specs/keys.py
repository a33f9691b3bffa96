"""What a spec says of itself: the kinds of a table and the keys of each, for every door that names or asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from sfumato.specs.schema_base import TableSpec


def kinds_of(union: Any) -> dict[str, type[TableSpec]]:
    """The model of each kind of a table that has several, by its name.

    Examples
    --------
    >>> from sfumato.specs.schema import SpaceSpec
    >>> kinds_of(SpaceSpec)["grid"].__name__
    'GridSpec'
    """
    return {kind: model for model in tables_of(union) for kind in model.key("kind").options}


def kind_words(union: Any) -> dict[str, str]:
    """A line on each kind.

    Examples
    --------
    >>> from sfumato.specs.schema_stakes import LossSpec
    >>> kind_words(LossSpec)["bin"]
    '1 for every wrong guess'
    """
    return {kind: words for model in tables_of(union) for kind, words in model.key("kind").options.items()}


def tables_of(annotation: Any) -> Iterator[type[TableSpec]]:
    """The models that a table may have: one, or one for each kind, or for several kinds together.

    Examples
    --------
    >>> from sfumato.specs.spec import Spec
    >>> [model.__name__ for model in tables_of(Spec.model_fields["privacy"].annotation)]
    ['PrivacySpec']
    """
    for part in get_args(annotation) or [annotation]:
        if isinstance(part, type) and issubclass(part, TableSpec):
            yield part
        elif get_args(part):
            yield from tables_of(part)
