"""Run a function in a process of its own: a crash or an endless loop there ends nothing here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["NoResult", "isolated"]


@dataclass(frozen=True)
class NoResult:
    """Why a call gave no value: its exception, a crash or the time limit."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def isolated(function: Callable[..., Any], *arguments: Any, seconds: float = 60) -> Any:
    """``function(*arguments)``, or a :class:`NoResult`; the function must be importable and its value picklable."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return NoResult(f"over {seconds:g} s")
        return receiver.recv()
    except EOFError:
        process.join()
        return NoResult(f"crashed, exit code {process.exitcode}")
    finally:
        process.kill()
        process.join()
        receiver.close()


def _answer(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        sender.send(function(*arguments))
    except Exception as error:
        sender.send(NoResult(f"{type(error).__name__}: {' '.join(str(error).split())}"))
