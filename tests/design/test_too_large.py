"""What does not fit into memory is refused before it is built, with its size; where nothing is named, others try."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import sfumato as sf
from sfumato import memory
from sfumato.design import certified, choice, closed_forms, optimal
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS, linear, registry
from sfumato.errors import NotSupported, TooLarge
from sfumato.lp import exact, first_order_iteration
from sfumato.lp.cone import lanes_iterate, near_iterate
from sfumato.lp.cone.program import ColumnProgram
from sfumato.lp.first_order_iteration import Iteration
from sfumato.lp.highs import check_program


def refuse(size: float, what: str, instead: Iterable[str], available: int | None = None) -> None:
    raise TooLarge(what, 2**40, 2**30, instead)


def grid(side: int, metric: str = "euclidean") -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    space = sf.grid(side, side, metric=metric)
    return sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2")


def test_auto_goes_on_without_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_iterate, "check_memory", refuse)
    with pytest.raises(NotSupported, match="needs about 1 TiB of memory"):
        sf.design(*grid(4), solver="interior")
    made = sf.design(*grid(4), tolerance=1e-2)
    assert made.method.startswith("interior point at peaks")
    assert made.gap <= 1e-2
    monkeypatch.setattr(near_iterate, "check_memory", refuse)
    assert sf.design(*grid(4), tolerance=1e-2).method.startswith("first order")
    monkeypatch.setattr(registry, "find_spec", lambda _: None)  # and where torch is not installed, memory is short
    with pytest.raises(TooLarge, match=r"the method at peaks for .* needs about 1 TiB of memory"):
        sf.design(*grid(4), tolerance=1e-2)


def test_a_program_for_highs_is_refused_before_it_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def written(*_: Any, **__: Any) -> None:
        raise AssertionError("the program was written down")

    monkeypatch.setattr(linear, "linear_program", written)
    monkeypatch.setattr(memory, "free_memory", lambda: 100 * 2**20)
    with pytest.raises(TooLarge) as caught:
        sf.design(*grid(10), solver="highs")
    words = str(caught.value)
    assert words.startswith("the design of 100 secrets and 100 actions as one program (")
    assert "of memory, and 80 MiB can be used; try another solver, or fewer outputs" in words
    assert caught.value.bytes is not None and 5e8 < caught.value.bytes < 1e9  # 0.66 GB were measured


def test_the_grid_that_took_24_gigabytes_does_not_fit_into_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """22 × 22 cells: 71,000 pairs that no chain implies, both ways, in 484 columns."""
    monkeypatch.setattr(memory, "free_memory", lambda: 24 * 2**30)
    rows = 484 + 2 * 71_000 * 484
    with pytest.raises(TooLarge):
        check_program(rows, 484**2, 2 * rows)


def test_an_exact_tableau_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the basis that floats propose is wrong: to confirm it takes no tableau."""
    monkeypatch.setattr(exact._StandardForm, "confirm", lambda *_: None)
    monkeypatch.setattr(exact, "check_memory", refuse)
    with pytest.raises(TooLarge, match="an exact tableau of"):
        sf.design(*grid(3, "manhattan"), solver="exact")


def test_peaks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_iterate, "check_memory", refuse)
    with pytest.raises(TooLarge, match="the method at peaks for"):
        sf.design(*grid(4), solver="interior-near")


def test_no_closed_form_where_its_tables_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    space = sf.line(50)
    asked = problem(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, epsilon=1))
    assert closed_forms.closed_form(asked, 1e-4) is not None
    monkeypatch.setattr(memory, "free_memory", lambda: 2**18)
    assert closed_forms.closed_form(asked, 1e-4) is None


def on_a_device(free: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the first-order method sees of a device with so much memory."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 2 * free))
    return SimpleNamespace(device=SimpleNamespace(type="cuda"))


@pytest.mark.parametrize(("side", "fits"), [(100, True), (200, False)])
def test_a_device_is_asked_for_its_memory_first(side: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manhattan grids beside the 139 GiB of a GPU, without an array of their size."""
    cells = side * side
    steps = 2 * 2 * side * (side - 1)
    program = SimpleNamespace(
        shape=(cells, cells), first=np.arange(steps) % cells, cost=SimpleNamespace(size=cells * cells)
    )
    method = on_a_device(139 * 2**30, monkeypatch)
    monkeypatch.setattr(memory, "free_memory", lambda: 128 * 2**30)
    if fits:
        Iteration._check_room(method, program, cells * cells, 0)
        Iteration._check_room(method, program, 0, cells * cells)
        return
    with pytest.raises(TooLarge, match=r"the first-order method for 40000 rows, 40000 columns and \d+ pairs on cuda"):
        Iteration._check_room(method, program, 0, cells * cells)


def test_lists_of_entries_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: Any) -> None:
        raise AssertionError("the lists were made")

    monkeypatch.setattr(first_order_iteration, "Support", made)
    program = ColumnProgram(np.eye(6), [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], np.ones(5))
    monkeypatch.setattr(memory, "free_memory", lambda: 6000)
    with pytest.raises(TooLarge, match="the first-order method for 6 rows, 6 columns and 5 pairs on cpu"):
        Iteration(program, 1e-3, "cpu")


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_an_allocation_that_fails_is_our_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Iteration, "primal_step", fails)
    with pytest.raises(
        TooLarge, match="solver 'first-order' for 9 secrets and 9 actions needs more memory than there is"
    ):
        sf.design(*grid(3), solver="first-order", tolerance=1e-9)


def test_a_device_that_is_full_leaves_it_to_the_method_that_needs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(optimal, "choose", lambda *_: SOLVERS["interior-gpu"])
    monkeypatch.setitem(SOLVERS, "interior-gpu", replace(SOLVERS["interior-gpu"], solve=full))
    monkeypatch.setattr(choice, "gpu_is_there", lambda: True)
    made = sf.design(*grid(4), tolerance=1e-2)
    assert made.method.startswith("first order")


def test_what_fails_while_a_problem_is_laid_out_or_proved_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["sfumato.design.problem"], "undominated", fails)
        with pytest.raises(TooLarge, match="laying out the problem needs more memory than there is; try fewer"):
            sf.design(*grid(3))
    monkeypatch.setattr(certified, "certified", fails)
    with pytest.raises(TooLarge, match="this design needs more memory"):
        sf.design(*grid(3))
