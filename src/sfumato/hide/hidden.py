"""What came of hiding points: the released table or file, the mechanism, and all that was paid for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.arguments import file_path, flag, quoted
from sfumato.certify.file import save
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, keyword
from sfumato.files import DRAWN, write_whole
from sfumato.hide.choice import words_of_secrets
from sfumato.hide.paid import Paid
from sfumato.numbers import text_above, text_below
from sfumato.release.families import rounded_told
from sfumato.report.page import facts_about, page_of
from sfumato.specs.question import privacy_of
from sfumato.specs.spec import Spec, seen_from, to_toml
from sfumato.specs.words import promised, rate_words


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What is known of the true points; none of it is private, and none of it is written.

    ``moved`` rows lay outside of the box, by up to ``farthest``; ``dropped`` rows were left out, ``beyond`` of them
    because their person has others before them. Where a row has several places, ``strays`` counts the moved ones
    of each.
    """

    rows: int
    moved: int = 0
    farthest: float = 0.0
    dropped: int = 0
    beyond: int = 0
    seconds: float = 0.0
    strays: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Hidden:
    """A release of points, with the design it was drawn from.

    ``table`` is the released table in the library it came in, or None for a file; ``files`` are the released file, the
    mechanism (``.sfm``), the report (``.html``) and the spec that repeats it (``.toml``). ``why`` says which kind of
    mechanism it is and why, ``paid`` what was paid beside it, ``diagnostics`` what is known of the true points,
    ``columns`` are those of the points, ``stay`` those that stay as they are, ``looked_up`` those of them in whose
    first rows no value occurs twice, ``decimal`` what stands before the decimals of coordinates in a CSV file.
    """

    design: Design
    spec: Spec
    why: str
    paid: tuple[Paid, ...]
    diagnostics: Diagnostics
    table: Any = None
    files: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()
    decimal: str = "."
    looked_up: tuple[str, ...] = ()

    @property
    def mechanism(self) -> Any:
        """The proved mechanism."""
        return self.design.mechanism

    @property
    def file(self) -> Path | None:
        """The released file."""
        return self.files[0] if self.files else None

    @property
    def promises(self) -> tuple[str, ...]:
        """Everything that is said of the release, in words, as the shell prints it.

        What is promised, what was paid beside it, how far what is told is from the truth, and what stays beside it.
        """
        promised = promise_words(self.design, self.spec, self.paid, self.why)
        return (*promised, distance_words(self.design, self.spec), *self.beside)

    @property
    def beside(self) -> tuple[str, ...]:
        """What stands beside the released points, in words: the columns that stay, and what names in them tell."""
        found = [f"Columns that stay as they are: {', '.join(self.stay)}."] if self.stay else []
        if self.looked_up:
            found.append(
                f"No value occurs twice in the first rows of {', '.join(self.looked_up)}: such values are names, of "
                "rows, people or places, and whoever has the other table in which they stand looks up there what is "
                f"hidden here; {keyword('drop')} leaves columns out."
            )
        return tuple(found)

    def report(self, path: str | PathLike[str] = "hidden.html", *, overwrite: bool = False) -> Path:
        """Write the report as one page; nothing in it depends on the true points but through what was paid for.

        Without a path it is ``hidden.html`` in the folder at hand; of a file it stands beside that already. A page of
        ours that is there is replaced with ``overwrite``, any other file never.
        """
        target, overwrite = file_path(path, "a report"), flag(overwrite, "overwrite")
        page = lambda: hidden_page(self.design, self.spec, self.paid, self.why)  # noqa: E731 - made where it is written
        write_whole(target, page, DRAWN, overwrite=overwrite)
        return target

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> str:
        """Write the mechanism, with ``overwrite`` over another one; returns the SHA-256 that ends the file.

        An ending other than ``.sfm`` is refused: who writes ``hidden.save("hidden.csv")`` means the released points.
        """
        target = file_path(path, "a mechanism")
        if target.suffix.lower() not in ("", ".sfm"):
            points = "they stand in .table, which its own library writes" if self.file is None else f"see {self.file}"
            raise InvalidInput(
                f"save writes the mechanism, a file .sfm, and {quoted(target)} is called otherwise; if the "
                f"released points are meant, {points}"
            )
        return save(self.mechanism, target, overwrite=overwrite)

    def __repr__(self) -> str:
        where = "a table" if self.file is None else str(self.file)
        return f"Hidden({where}, {self.design!r})"


def promise_words(design: Design, spec: Spec, paid: tuple[Paid, ...], why: str) -> tuple[str, ...]:
    """What is promised and how it was kept, one sentence each."""
    kept, terms = design.mechanism.privacy, spec.release
    if terms is not None and terms.per_person:
        kept = privacy_of(spec, kept.space, whole=True)
    apart = None if spec.privacy is None else spec.privacy.double_at
    round_words = (
        "" if apart is None else f"odds between two {words_of_secrets(spec).apart} {apart} apart at most double; "
    )
    return (
        f"Released: {round_words}{promised(kept)}.",
        _whose(design, terms),
        *(part.words for part in paid),
        f"Mechanism: {why}.",
        *filter(None, [rounded_told(design.mechanism)]),
    )


def _whose(design: Design, terms: Any) -> str:
    """Whom the promise is about: a place, a row, or all rows of a person; and what several cost together."""
    places = [] if terms is None or terms.places is None else list(terms.places)
    if terms is None or terms.person is None:
        if places:
            return (
                f"The promise is about each of the {len(places)} places of a row ({', '.join(places)}): all of them "
                f"together cost {len(places)} times as much, and k rows of a person {len(places)}·k times as much."
            )
        return (
            "The promise is about each row: who has several rows is told about by all of them, and k rows cost k times "
            "as much."
        )
    rows = terms.most_rows or 1
    draws = rows * max(len(places), 1)
    whose = (
        f"At most {rows} row{'s' * (rows > 1)} of each person ({terms.person}) {'are' if rows > 1 else 'is'} released"
    )
    if places:
        whose += f", each with {len(places)} places ({', '.join(places)})"
    if draws == 1:
        return f"{whose}{'; that keeps this promise for the person' * terms.per_person}."
    if not terms.per_person:
        return f"{whose}; all of them together cost {draws} times as much."
    return (
        f"{whose}; all of them together keep this promise for the person, each at 1/{draws} of its rate: "
        f"{rate_words(design.mechanism.privacy)}."
    )


def distance_words(design: Design, spec: Spec) -> str:
    """How far what is told is from the truth on average, and how much nearer it could be."""
    unit = design.mechanism.privacy.space.unit
    between = f" {words_of_secrets(spec).between}".rstrip()
    least = f"no mechanism with this promise has less than {text_below(design.bound, 4)} {unit}".rstrip()
    if design.bound <= 0:
        least = "how near that is to the best was not found out in time"
    elif design.loss == design.bound:
        least = "no mechanism with this promise does better"
    return f"Expected distance{between}: {f'{text_above(design.loss, 4)} {unit}'.rstrip()}; {least}."


def hidden_page(design: Design, spec: Spec, paid: tuple[Paid, ...], why: str, file: str = "hidden.sfm") -> bytes:
    """The report of a release: that of its mechanism, with what was promised and paid at its head."""
    facts = facts_about(design, compare=False)
    return page_of(facts, "Hidden points", file, notes=promise_words(design, spec, paid, why))


def spec_text(spec: Spec, paid: tuple[Paid, ...], folder: Path) -> str:
    """The spec as a file in a folder, with what was paid for in comments."""
    text = to_toml(spec, renamed=seen_from(spec, folder))
    return "\n".join([*(f"# {part.words}" for part in paid), text])
