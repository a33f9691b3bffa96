"""What a verb can be asked, declared once: its keywords, its frozen value and the options of a shell are made of that.

A declaration is a ``TypedDict``, which type checkers and editors read as the keywords of ``**given: Unpack[…]``. Each
of its fields is ``Annotated[type, asked(…)]`` with the default and the words of the shell. What several verbs share is
a declaration that their own ones have for a base; the order of bases is that of signatures and of help. A type that has
a name (``"Number | None"``), or that only type checkers import, is written as a text, which signatures then show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter, get_annotations, signature
from typing import Any, ForwardRef, TypeVar, cast

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ShellOption:
    """How a shell asks for a field: its line of help, the type that is read, and what the option is called.

    ``least`` is the smallest number that is taken. With ``with_default`` the default is the option's own, which help
    shows; otherwise nothing is said where nobody says anything.
    """

    help: str
    type: Any = str
    name: str | None = None
    least: float | None = None
    with_default: bool = False


@dataclass(frozen=True, eq=False)
class Declared:
    """What stands beside the type of a field: its default, the words it is one of, and an option for each command.

    What is ``secret`` stays out of the text of the value. ``in_spec`` says that specs have a key of this name;
    ``question`` is the sentence of a dialogue that asks for it, and ``usual`` the answer that is offered.
    """

    default: Any
    words: tuple[str, ...]
    secret: bool
    in_spec: bool
    question: str
    usual: str | None
    options: Mapping[str, ShellOption]


def asked(
    default: Any = None,
    /,
    *,
    words: tuple[str, ...] = (),
    secret: bool = False,
    in_spec: bool = False,
    question: str = "",
    usual: str | None = None,
    **options: ShellOption | str,
) -> Declared:
    """Declare a field: its default, and the option of each command; a text is the help of an option that takes a text.

    Examples
    --------
    >>> asked(hide="The column of the latitude.").options["hide"].type
    <class 'str'>
    """
    whole = {name: ShellOption(said) if isinstance(said, str) else said for name, said in options.items()}
    return Declared(default, words, secret, in_spec, question, usual, whole)


def declared(*declarations: type) -> Iterator[tuple[str, str, Declared]]:
    """The fields of declarations in their order: name, type as it was written, and what stands beside it.

    Examples
    --------
    >>> from sfumato.release.fields import PersonFields
    >>> [(name, written, said.default) for name, written, said in declared(PersonFields)]
    [('person', 'str | None', None), ('most_rows', 'int | None', None), ('beyond', 'str', 'error')]
    """
    for declaration in declarations:
        for name, annotation in get_annotations(declaration).items():
            written = annotation.__origin__
            if isinstance(written, ForwardRef):
                text = written.__forward_arg__
            else:
                text = written.__name__ if isinstance(written, type) else str(written)
            yield name, text, annotation.__metadata__[0]


def fields_of(*declarations: type, **defaults: Any) -> Callable[[type[C]], type[C]]:
    """Give a class that becomes a dataclass the declared fields, as keywords; ``defaults`` are others than declared.

    Type checkers do not run this: for them the class says beside it that it is made of ``**given: Unpack[…]``.
    """

    def added(cls: type[C]) -> type[C]:
        annotations = dict(get_annotations(cls))
        for name, written, said in declared(*declarations):
            annotations[name] = written
            setattr(cls, name, field(default=defaults.get(name, said.default), repr=not said.secret, kw_only=True))
        cls.__annotations__ = annotations
        return cls

    return added


def changed(value: C, **changes: Any) -> C:
    """The same value with other fields; type checkers know no fields that :func:`fields_of` gave to its class."""
    return cast(C, replace(cast(Any, value), **changes))


def with_fields(record: type) -> Callable[[F], F]:
    """Show the fields of a record that a function has no parameters for, instead of its ``**given``."""

    def shown(function: F) -> F:
        own = signature(function)
        kept = [parameter for parameter in own.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
        shared = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in signature(record).parameters.items()
            if name not in own.parameters
        ]
        function.__signature__ = own.replace(parameters=[*kept, *shared])  # type: ignore[attr-defined]
        return function

    return shown
