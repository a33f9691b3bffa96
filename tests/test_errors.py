from __future__ import annotations

import inspect

import pytest

from sfumato import errors


def test_every_error_is_drawn_in_the_docstring_and_has_the_common_base() -> None:
    own = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    classes = [c for c in own if issubclass(c, Exception)]
    beside = {"Wording", "advice", "counted", "expect", "few", "keyword", "short", "shown", "speaking", "worded"}
    assert {error.__name__ for error in classes} | beside == set(errors.__all__)
    for error in classes:
        assert issubclass(error, errors.SfumatoError)
        assert error.__name__ in (errors.__doc__ or "")


def test_input_errors_are_value_errors_and_extras_are_import_errors() -> None:
    assert issubclass(errors.InvalidMetric, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert "pip install 'sfumato[gpu]'" in str(errors.MissingExtra("gpu", "torch"))


@pytest.mark.parametrize(
    ("expected", "found", "words"),
    [
        (["a", "b"], ["a"], "missing 'b'"),
        (["a"], ["a", "c"], "unexpected 'c'"),
        (["a", "b"], ["b", "a"], "another order, first at position 0: expected 'a', found 'b'"),
        (list(range(20)), [], "and 15 more"),
    ],
)
def test_a_mismatch_names_the_labels(expected: list[object], found: list[object], words: str) -> None:
    error = errors.Mismatch("labels", expected, found)
    assert words in str(error)
    assert error.expected == tuple(expected)
    assert error.found == tuple(found)


def test_not_supported_lists_what_is() -> None:
    assert "z is not supported; x and y are" in str(errors.NotSupported("z", ["x", "y"]))


def test_values_are_quoted_in_few_words_that_print() -> None:
    nested: list[object] = []
    for _ in range(5000):
        nested = [nested]
    assert errors.shown(("a", 1.5)) == "('a', 1.5)"
    assert errors.shown(nested) == "[[[[[...]]]]]"
    assert errors.shown("x" * 9999).count("x") < 200
    assert errors.shown(10**5000) == errors.short(-(10**5000)) == "an integer of 5000 digits"
    assert errors.shown(len) == "the function len"
    assert "0x" not in errors.shown([object(), lambda: 0, iter(())])
    assert errors.shown("\ud800") == "'\\ud800'"
    assert errors.short("1/3") == "1/3"


def test_what_fails_to_show_itself_is_named_by_its_type() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert errors.shown(Silent()) == "a value of type Silent"
