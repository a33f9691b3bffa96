from __future__ import annotations

import pytest

from sfumato.cli.wording import counted, in_shell_words


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("on_unknown='nearest' needs a line", "--on-unknown nearest needs a line"),
        ("refused; set_limit() changes the limit", "refused; `sfumato ledger limit` changes the limit"),
        ("'survey', all columns together,: 3", "'survey', all columns together: 3"),
        ("must be positive, found Fraction(0, 1)", "must be positive, found 0"),
        ("not taken for the names of outputs unasked", "not taken for the names of outputs without --header"),
        ("found Fraction(-1, 2)", "found -1/2"),
        ("repair() or quantise() makes one", "`sfumato audit --repair` makes one"),
        ("1 secrets, 11 secrets, 0.1 pairs, all 1 pairs", "1 secret, 11 secrets, 0.1 pairs, all 1 pair"),
    ],
)
def test_messages_are_in_the_words_of_the_shell(said: str, meant: str) -> None:
    assert in_shell_words(said) == meant


def test_one_is_not_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
