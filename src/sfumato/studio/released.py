"""Rows that somebody brings, released by the mechanism of the page; columns are found by what they hold."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.errors import InvalidInput, counted, shown
from sfumato.numbers import is_floatable
from sfumato.release.places import Place, Position
from sfumato.release.streams import release_file
from sfumato.release.terms import Column
from sfumato.spaces.foreign import ACROSS, LATITUDES, LONGITUDES, UP
from sfumato.specs.question import Question
from sfumato.specs.tables import Columns, column_texts, columns_from_text, usual_column


def released(mechanism: Any, question: Question, text: str, name: str, column: str) -> dict[str, Any]:
    """The text of a CSV file with noise in the place of its secrets; everything else is as it was, byte for byte.

    The true rows lie in a folder of this user's own while they are released, and are removed with it.
    """
    table = columns_from_text(text, name)
    wanted = _column(table, question, column)
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "true.csv", Path(folder) / "released.csv"
        source.write_text(text, encoding="utf-8", newline="")
        done = release_file(mechanism, source, target, wanted)
        told = target.read_text(encoding="utf-8")
    names = [wanted] if isinstance(wanted, str) else list(wanted.columns)
    words = f"{counted(done.rows, 'row')} of {name} released, {' and '.join(map(shown, names))} with noise"
    return {"text": told, "name": "released.csv", "said": words}


def _column(table: Columns, question: Question, named: str) -> Column:
    """The column that was named, or coordinates by their usual names, or the one column that holds secrets."""
    space = question.space
    if named:
        column_texts(table, named)
        return named
    if not question.family.listed and space.dimension > 1:
        first, second = (LATITUDES, LONGITUDES) if space.frame is not None else (ACROSS, UP)
        pair = [usual_column(table, words, f"the {words[0]}", "rename the others") for words in (first, second)]
        if not all(pair):
            raise InvalidInput(
                f"{table.file} needs columns {first[0]} and {second[0]}; it has {', '.join(table.header)}"
            )
        return (Place if space.frame is not None else Position)(*pair)
    if not question.family.listed:
        found = [head for head in table.header if all(map(is_floatable, column_texts(table, head)))]
    else:
        texts = {str(label) for label in space.labels}
        found = [head for head in table.header if {*map(str, column_texts(table, head))} <= texts]
    if len(found) != 1:
        what = (
            "no column holds secrets of this question" if not found else f"{' and '.join(map(shown, found))} may be it"
        )
        raise InvalidInput(f"{table.file}: {what}: name the column that is to be released")
    return found[0]
