"""Comparisons named on the command line: a loss such as ``absolute`` or ``threshold:1``, a prior such as ``3,1,1``."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sfumato.channels import Prior
from sfumato.cli.progress import line
from sfumato.cli.wording import in_shell_words
from sfumato.design.comparison import OPTIMAL, Comparison, compare_known
from sfumato.errors import InvalidInput, NotSupported
from sfumato.losses import LOSSES, Loss, default
from sfumato.privacy import PrivacyType
from sfumato.spaces import FiniteSpace

__all__ = ["compared", "drawn", "loss_from_text", "prior_from_text", "said"]

_OF_A_SPACE = ("absolute", "bin", "distance", "nib", "squared")
_WITH_A_NUMBER = ("threshold",)


def compared(privacy: PrivacyType, loss: str | None, prior: str, optimal: bool | None = None) -> Comparison:
    """All known mechanisms for a loss and a prior in words, and the best; one line says which is being built."""
    space = privacy.space
    with line() as say:
        return compare_known(
            prior_from_text(prior, space), default(space) if loss is None else loss_from_text(loss, space), privacy,
            optimal=optimal, progress=say,
        )  # fmt: skip


def loss_from_text(text: str, space: FiniteSpace) -> Loss:
    """The loss of a name, ``threshold`` with its radius after a colon.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> loss_from_text("threshold:1", line(4))
    Loss(threshold(1), 4 actions, 4 secrets)
    """
    name, _, number = text.partition(":")
    if name in _OF_A_SPACE and not number:
        return LOSSES[name](space)
    if name in _WITH_A_NUMBER and number:
        return LOSSES[name](space, number)
    raise NotSupported(f"loss {text!r}", [*_OF_A_SPACE, *(f"{known}:1" for known in _WITH_A_NUMBER)])


def prior_from_text(text: str, space: FiniteSpace) -> Prior:
    """``uniform``, or how often each secret was seen, in the order of the space.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> prior_from_text("3,0,1", line(3)).weights.tolist()
    [Fraction(3, 4), Fraction(0, 1), Fraction(1, 4)]
    """
    if text == "uniform":
        return Prior.uniform(space)
    if "," not in text:
        raise InvalidInput(f"{text!r} is no prior: write uniform, or counts such as 3,0,1, one for each secret")
    return Prior.from_counts(text.split(","), space)


def said(comparison: Comparison) -> list[str]:
    """The table for people, with the names of mechanisms that do not exist here."""
    lines = [in_shell_words(str(comparison))]
    names = [name for name in comparison.left_out if name != OPTIMAL]
    if names:
        lines.append(f"not for this promise: {', '.join(names)}")
    return lines


def drawn(comparison: Comparison, path: str | PathLike[str]) -> Any:
    """Write the figure."""
    from sfumato.report.comparison import comparison_figure
    from sfumato.report.figure import write

    return write(comparison_figure(comparison), path)
