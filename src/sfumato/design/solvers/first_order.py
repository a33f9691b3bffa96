"""The first-order method of :mod:`sfumato.design.solvers.first_order_kernels`, on the CPU or on a GPU.

Slower than the block method wherever that one has the memory for its factors. This one only needs room for the
matrix and its multipliers, and does nothing but stream past them: it is the way to ten thousand secrets.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.errors import InvalidInput, Mismatch, MissingExtra, NotSupported
from sfumato.lp.columns import ColumnProgram

__all__ = ["solve_first_order"]

_ROOM_FOR_DOUBLE = 2**33  # bytes of multipliers: beyond, a GPU works in single precision


def solve_first_order(
    problem: Problem,
    tolerance: float,
    progress: Callable[..., object] | None,
    time_limit: float | None = None,
    *,
    device: str = "auto",
    precision: str = "auto",
    start: tuple[Any, Any] = (None, None),
) -> Answer:
    """Near-optimal to a relative gap, in memory of the order of the matrix and its multipliers.

    Parameters
    ----------
    progress
        Called at every check with iteration, value, bound, gap and seconds. Ctrl-C ends the run with the best so far.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one.
    precision
        ``"double"``, ``"single"``, or ``"auto"``: single on a GPU when multipliers take more than 8 GiB in double.
        Single precision reaches gaps of about 1e-4.
    start
        A matrix (one row a secret, one column an action) and multipliers of e^{−εd} M_x − M_z ≤ 0 (one row for each
        ordered pair) to begin with; either may be None.

    Examples
    --------
    >>> from sfumato.channels import Prior
    >>> from sfumato.design.problem import problem
    >>> from sfumato.losses import absolute
    >>> from sfumato.privacy import PrivacyType
    >>> from sfumato.spaces import line
    >>> asked = problem(Prior.uniform(line(3)), absolute(line(3)), PrivacyType(line(3), alpha="1/2"))
    >>> found = solve_first_order(asked, 1e-4, None, device="cpu")
    >>> round(float((asked.float_cost * found.matrix).sum()), 3), found.finished
    (0.556, True)
    """
    if find_spec("torch") is None:
        raise MissingExtra("gpu", "torch")
    import torch

    from sfumato.design.solvers.first_order_kernels import lattice_shape, minimise_columns

    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidInput(f"the time limit is a positive number of seconds, found {time_limit}")
    place = _device(device, torch.cuda.is_available())
    first, second = problem.ordered_pairs
    program = ColumnProgram(problem.float_cost, first, second, problem.logs)
    double = _is_double(precision, place, 8 * len(first) * program.shape[1])
    found = minimise_columns(
        program.cost, program.first, program.second, program.logs,
        tolerance=tolerance, time_limit=time_limit, progress=progress,
        shape=lattice_shape(len(program.cost), first, second), start=_start(start, program),
        device=place, dtype=torch.float64 if double else torch.float32, compiled=place == "cuda",
    )  # fmt: skip
    values = found.multipliers * np.exp(-problem.logs).astype(found.multipliers.dtype)[:, None]
    pair, action = np.nonzero(values > 0)
    return Answer(
        found.matrix.astype(np.float64),
        Multipliers(first[pair], second[pair], action, values[pair, action].astype(np.float64)),
        f"first order ({place})", found.iterations, found.seconds, found.ended == "reached",
    )  # fmt: skip


def _device(asked: str, has_gpu: bool) -> str:
    if asked == "auto":
        return "cuda" if has_gpu else "cpu"
    if asked not in ("cpu", "cuda"):
        raise NotSupported(f"device {asked!r}", ["auto", "cpu", "cuda"])
    if asked == "cuda" and not has_gpu:
        raise NotSupported("device 'cuda' on a machine where torch finds no GPU", ["auto", "cpu"])
    return asked


def _is_double(precision: str, place: str, size: int) -> bool:
    if precision not in ("auto", "double", "single"):
        raise NotSupported(f"precision {precision!r}", ["auto", "double", "single"])
    return precision == "double" or (precision == "auto" and (place == "cpu" or size <= _ROOM_FOR_DOUBLE))


def _start(
    given: tuple[Any, Any], program: ColumnProgram
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """The two arrays to begin with, if they have the right shapes."""
    found: list[NDArray[np.float64] | None] = []
    rows = ("a matrix", program.shape[0]), ("multipliers", len(program.first))
    for values, (what, length) in zip(given, rows, strict=True):
        array = None if values is None else np.asarray(values, dtype=np.float64)
        if array is not None and array.shape != (length, program.shape[1]):
            raise Mismatch(f"{what} to begin with", (length, program.shape[1]), array.shape,
                           f"{length} rows and {program.shape[1]} columns are needed, found {array.shape}")  # fmt: skip
        if array is not None and not np.isfinite(array).all():
            raise InvalidInput(f"{what} to begin with must be finite")
        found.append(array)
    return found[0], found[1]
