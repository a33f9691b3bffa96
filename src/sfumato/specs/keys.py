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
    return {kind: model for model in _models(union) for kind in model.key("kind").options}


def kind_words(union: Any) -> dict[str, str]:
    """A line on each kind.

    Examples
    --------
    >>> from sfumato.specs.schema_stakes import LossSpec
    >>> kind_words(LossSpec)["bin"]
    '1 for every wrong guess'
    """
    return {kind: words for model in _models(union) for kind, words in model.key("kind").options.items()}


def _models(union: Any) -> Iterator[type[TableSpec]]:
    for part in get_args(union) or [union]:
        if isinstance(part, type) and issubclass(part, TableSpec):
            yield part
        elif get_args(part):
            yield from _models(part)
