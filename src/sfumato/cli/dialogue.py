"""Questions on a terminal or a pipe: an answer that cannot be used is asked for again, with what would do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from sfumato.errors import SfumatoError
from sfumato.specs.complaints import nearest
from sfumato.specs.schema_base import KeyWords

_YES = {"y": True, "yes": True, "n": False, "no": False}


@dataclass(frozen=True)
class Dialogue:
    """Whoever answers: ``quiet`` keeps standard output free, ``assume`` takes the usual answer wherever there is one.

    ``given`` has the texts that were accepted, so that an interrupted dialogue can be taken up again.
    """

    quiet: bool = False
    assume: bool = False
    given: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        """A line for whoever answers."""
        typer.echo(words, err=self.quiet)

    def ask(self, question: str, check: Callable[[str], Any], default: str | None = None) -> Any:
        """What ``check`` makes of an answer; the question comes again until it makes something of it."""
        if self.assume and default is not None:
            try:
                value = self._taken(check, default)
            except (SfumatoError, ValueError) as error:
                self.say(f"{question}: {default} will not do, {_plain(error)}")
            else:
                self.say(f"{question}: {default}")
                return value

        def checked(text: Any) -> Any:
            try:
                return self._taken(check, str(text).strip())
            except (SfumatoError, ValueError) as error:
                raise typer.BadParameter(_plain(error)) from None

        return typer.prompt(question, default=default, value_proc=checked, err=self.quiet)

    def ask_for(self, key: KeyWords, check: Callable[[str], Any], default: str | None = "", /, **words: str) -> Any:
        """What ``check`` makes of the answer to a key's sentence; its usual answer is offered, or another one."""
        return self.ask(key.asked.format(**words), check, key.usual if default == "" else default)

    def together(self, ask: Callable[[], Any], check: Callable[[Any], Any]) -> Any:
        """What ``check`` makes of the answers to several questions; all of them come again until it makes something."""
        while True:
            before = len(self.given)
            answers = ask()
            try:
                return check(answers)
            except (SfumatoError, ValueError) as error:
                if self.assume:  # the usual answers would come again, for ever
                    raise
                del self.given[before:]
                self.say(f"Error: {_plain(error)}")

    def choose(self, question: str, known: Mapping[str, str], default: str, check: Callable[[str], Any] = str) -> str:
        """One of several names, each shown with a line on it."""
        self.say(question)
        wide = max(map(len, known))
        for name, words in known.items():
            self.say(f"  {name:<{wide}}  {words}")
        return str(self.ask("Which", lambda text: check(known_name(text, known)), default))

    def confirm(self, question: str, *, default: bool) -> bool:
        """Yes or no."""
        said = self.ask(
            f"{question} (yes or no)", lambda text: known_name(text.lower(), _YES), "yes" if default else "no"
        )
        return _YES[said]

    def taken_up(self, command: str) -> str:
        """The command line that repeats what was answered and asks for the rest."""
        return f"{{ printf '%s\\n' {shlex.join(self.given)}; cat; }} | {command}" if self.given else command

    def _taken(self, check: Callable[[str], Any], text: str) -> Any:
        value = check(text)
        self.given.append(text)
        return value


def known_name(text: str, known: Mapping[str, Any]) -> str:
    """A name that is among the known ones."""
    if text not in known:
        raise ValueError(f"{text!r} is not among these{nearest(text, known)}")
    return text


def _plain(error: Exception) -> str:
    return str(error).removeprefix("spec: ")
