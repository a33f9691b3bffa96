"""Every public function, constructor and method, called with wrong arguments, answers or says what is wrong.

What counts as an answer is said in ``tests/wrong_arguments.py``. Here runs one call in :data:`SHARE`, chosen by a hash
of its name; ``benchmarks/wrong_inputs.py`` runs all of them. What hands over to other packages is in ``tests/peers``.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from public_names import WITH_PEERS, public_callables
from sfumato import errors
from valid_calls import CALLS, noun
from wrong_arguments import MEMBERS, Wrong, chosen, faults, wrong_calls

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.draws.InsecureSeed")  # what a seed is for is told by a warning

SHARE = 12  # of all calls, one in so many

EVERY = public_callables()
CALLABLES = {name: called for name, called in EVERY.items() if name not in WITH_PEERS}
CHOSEN: dict[str, list[Wrong]] = {}
for wrong in chosen(wrong_calls(CALLABLES), SHARE):
    CHOSEN.setdefault(wrong.name, []).append(wrong)


def test_every_public_callable_has_a_valid_call() -> None:
    assert CALLS.keys() == EVERY.keys() > set(WITH_PEERS)


def test_the_choice_meets_nearly_all_callables_and_all_members() -> None:
    assert {wrong.member for calls in CHOSEN.values() for wrong in calls} == set(MEMBERS)
    assert len(CHOSEN) > 0.95 * len(CALLABLES)


@pytest.mark.parametrize("name", CHOSEN)
def test_wrong_arguments_are_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    valid = CALLS[name]()
    CALLABLES[name](*valid.positional, **valid.named)  # what is compiled or loaded for the first time is not counted
    failed = [f"{fault.wrong}: {fault.what}" for fault in faults(CHOSEN[name], CALLABLES)]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", [name for name in CALLABLES if not name.startswith("universal.UtilitySet")])
def test_an_unknown_keyword_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    valid = CALLS[name]()
    with pytest.raises((TypeError, errors.SfumatoError), match="no_such_keyword"):
        CALLABLES[name](*valid.positional, **valid.named, no_such_keyword=1)


# ----------------------------------------------------------------- faults that were found once


@pytest.mark.parametrize("number", [0, 1, 2, True, -1])
def test_a_number_is_no_file(number: Any) -> None:
    """``open(1)`` is standard output, and closing it ends all printing."""
    with pytest.raises(errors.InvalidInput, match="named by a path"):
        sf.load(number)


def test_an_integer_that_python_does_not_print_is_quoted_in_words() -> None:
    with pytest.raises(errors.InvalidEpsilon, match="an integer of 5000 digits"):
        sf.PrivacyType(noun("space"), alpha=10**5000)


@pytest.mark.parametrize(
    "use",
    [lambda masked: sf.Prior([0, 1], masked), lambda masked: sf.points(masked),
     lambda masked: sf.FiniteSpace([0, 1], [[0, 1], [1, 0]], coordinates=masked[:, None])],
)  # fmt: skip
def test_what_a_mask_hides_is_not_used(use: Any) -> None:
    """NumPy forgets the mask where it makes another array of a masked one."""
    use(np.ma.array([0.25, 0.75], mask=False))
    with pytest.raises(errors.InvalidInput, match="masked"):
        use(np.ma.array([0.25, 0.75], mask=[False, True]))


def test_labels_that_cannot_be_written_are_refused_when_proved() -> None:
    promise = sf.PrivacyType(sf.line(["\ud800", "b"]), alpha="1/2")
    with pytest.raises(errors.InvalidInput, match="not valid text"):
        sf.geometric(promise)


def test_all_errors_of_the_tree_are_ours() -> None:
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert all(issubclass(kind, errors.SfumatoError) for kind in kinds)
