"""What hands over to other packages, called with wrong arguments like everything else (``tests/conformance``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from public_names import WITH_PEERS, public_callables
from valid_calls import CALLS
from wrong_arguments import faults, wrong_calls

pytestmark = pytest.mark.peers

CALLABLES = {name: called for name, called in public_callables().items() if name in WITH_PEERS}


@pytest.mark.parametrize("name", WITH_PEERS)
def test_wrong_arguments_are_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    valid = CALLS[name]()
    CALLABLES[name](*valid.positional, **valid.named)
    failed = [f"{fault.wrong}: {fault.what}" for fault in faults(wrong_calls({name: CALLABLES[name]}), CALLABLES)]
    assert not failed, "\n".join(failed)
