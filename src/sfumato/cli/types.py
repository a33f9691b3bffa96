"""The commands on a privacy type: ``kernels`` and ``capacity``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sfumato.cli.options import Alpha, AsJson, Epsilon, Space, answer, privacy_from_texts, promise_record
from sfumato.cli.progress import progress_line
from sfumato.errors import counted
from sfumato.numbers import bounds_text
from sfumato.privacy import capacities, estimate_kernels
from sfumato.privacy import kernels as kernels_of


def kernels(
    space: Space,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    estimate: Annotated[int, typer.Option(help="Estimate from so many random sets instead of counting.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Seed of the estimate.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count the kernel mechanisms of a privacy type, by number of outputs, or estimate how many there are."""
    privacy = privacy_from_texts(space, epsilon, alpha)
    record: dict[str, Any] = {"space": space, **promise_record(privacy)}
    if estimate:
        with progress_line() as say:
            guess = estimate_kernels(privacy, samples=estimate, seed=seed, progress=say)
        record |= {"kernels": guess.count, "error": guess.error, "low": guess.low, "high": guess.high,
                   "confidence": guess.confidence, "samples": guess.samples, "hits": guess.hits}  # fmt: skip
        if guess.fewer_than is None:
            low, high = bounds_text(guess.low, guess.high, 4)
            lines = [f"{privacy!r}: {guess} kernels"]
            lines.append(f"  between {low} and {high} with confidence {guess.confidence:g}")
        else:
            record |= {"kernels": None, "error": None, "fewer_than": guess.fewer_than}
            lines = [f"{privacy!r}: kernels {guess}"]
    else:
        with progress_line() as say:
            family = kernels_of(privacy, progress=say)
        record |= {"vertices": len(family.vertices), "kernels": len(family), "by_outputs": family.sizes()}
        vertices = counted(len(family.vertices), "vertex", "vertices")
        lines = [f"{privacy!r}: {counted(len(family), 'kernel')} from {vertices}"]
        lines += [f"  with {counted(size, 'output')}: {number}" for size, number in family.sizes().items()]
    answer(record, lines, as_json)


def capacity(space: Space, alpha: Alpha = None, epsilon: Epsilon = None, as_json: AsJson = False) -> None:
    """The most that any mechanism of a privacy type leaks, as a ratio and as a difference."""
    privacy = privacy_from_texts(space, epsilon, alpha)
    most = capacities(privacy)
    record, parts = {"space": space, **promise_record(privacy)}, []
    for kind in ("multiplicative", "additive"):
        value, bound, method = (getattr(most, f"{kind}{end}") for end in ("", "_bound", "_method"))
        parts.append(f"{kind} {value}" + ("" if value == bound else f" (at most {bound})"))
        record |= {kind: str(value), f"{kind}_bound": str(bound), f"{kind}_method": str(method)}
    answer(record, [f"{privacy!r}: {', '.join(parts)}"], as_json)
