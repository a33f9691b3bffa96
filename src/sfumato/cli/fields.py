"""Options of the shell that are made of the fields that a verb declares, and what was said with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar

import typer

from sfumato.fields import Declared, ShellOption, declared

F = TypeVar("F", bound=Callable[..., Any])


def with_options(command: str, *declarations: type, after: Mapping[str, str]) -> Callable[[F], F]:
    """Give a command the options of the declared fields, which it takes as ``**given``.

    Its own parameters come first; from one that ``after`` names on, they follow the field that stands there. Typer
    reads the signature, and calls the command with a value for every parameter.
    """

    def offered(function: F) -> F:
        own: dict[str, list[Parameter]] = {}
        place = ""
        for parameter in signature(function, eval_str=True).parameters.values():
            if parameter.kind is not Parameter.VAR_KEYWORD:
                place = after.get(parameter.name, place)
                own.setdefault(place, []).append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
        every = own.pop("", [])
        for name, _, said in declared(*declarations):
            if command in said.options:
                every.append(_parameter(name, said, said.options[command]))
            every += own.pop(name, [])
        function.__signature__ = signature(function).replace(parameters=every)  # type: ignore[attr-defined]
        function.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return function

    return offered


def _parameter(name: str, said: Declared, option: ShellOption) -> Parameter:
    """A parameter as typer reads it; nothing is said by default, unless the option says what."""
    names = () if option.name is None else (option.name,)
    kind: Any = option.type | None
    default = None
    if option.type is bool:  # a flag that only can be raised
        names, kind, default = (f"--{name.replace('_', '-')}",), bool, False
    elif option.with_default:
        kind, default = option.type, said.default
    read = typer.Option(*names, min=option.least, help=option.help)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, read])


def what_was_said(given: Mapping[str, Any], *declarations: type) -> dict[str, Any]:
    """The fields that somebody gave a value for, in the order of their declaration.

    Examples
    --------
    >>> from sfumato.hide.fields import WishFields
    >>> what_was_said({"drop": [], "h3": 0, "box": "Paris, 20 km", "cell": None}, WishFields)
    {'box': 'Paris, 20 km', 'h3': 0}
    """
    values = {name: given.get(name) for name, _, _ in declared(*declarations)}
    return {name: value for name, value in values.items() if value is not None and value is not False and value != []}
