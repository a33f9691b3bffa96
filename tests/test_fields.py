"""Fields declared once: the value, the signature and what is said of each are made of the declaration."""

from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import pytest

from sfumato.fields import ShellOption, asked, changed, declared, fields_of, with_fields

if TYPE_CHECKING:
    from fractions import Fraction


class Place(TypedDict, total=False):
    place: Annotated[str | None, asked(forecast="Where.")]


class Question(Place, total=False):
    day: Annotated["Fraction | None", asked(forecast=ShellOption("When.", int, least=1))]
    password: Annotated[Any, asked("", secret=True)]
    kind: Annotated[str, asked("wind", words=("wind", "rain"))]


@dataclass(frozen=True)
@fields_of(Question, kind="rain")
class Forecast:
    """What was asked."""

    service: str

    if TYPE_CHECKING:

        def __init__(self, service: str, **question: Unpack[Question]) -> None: ...

        def __getattr__(self, name: str) -> Any: ...


def test_fields_come_in_the_order_of_bases_with_types_as_written() -> None:
    found = {name: (written, said.default) for name, written, said in declared(Question)}
    assert found == {
        "place": ("str | None", None),
        "day": ("Fraction | None", None),
        "password": ("Any", ""),
        "kind": ("str", "wind"),
    }
    assert list(found) == ["place", "day", "password", "kind"]
    options = {name: said.options for name, _, said in declared(Question)}
    assert options["place"] == {"forecast": ShellOption("Where.")} and options["kind"] == {}


def test_a_value_has_the_declared_fields_as_keywords_and_keeps_secrets_to_itself() -> None:
    asked_for = Forecast("met", place="Paris", password="s3cret")
    assert (asked_for.service, asked_for.place, asked_for.day, asked_for.kind) == ("met", "Paris", None, "rain")
    assert "s3cret" not in repr(asked_for) and "Paris" in repr(asked_for)
    assert changed(asked_for, place="Rome").place == "Rome"
    with pytest.raises(TypeError):
        Forecast("met", "Paris")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        asked_for.place = "Rome"


def test_a_function_shows_the_fields_that_it_takes_as_keywords() -> None:
    @with_fields(Forecast)
    def forecast(service: str, *, loud: bool = False, **question: Unpack[Question]) -> str:
        return f"{service}, {loud}, {question.get('place')}"

    assert str(signature(forecast)) == (
        "(service: str, *, loud: bool = False, place: 'str | None' = None, day: 'Fraction | None' = None, "
        "password: 'Any' = '', kind: 'str' = 'rain') -> str"
    )
    assert forecast("met", place="Oslo") == "met, False, Oslo"
