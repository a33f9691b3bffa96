"""The command ``sfumato`` with its status and what it says: in a process of its own, or in this one."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess
from subprocess import run as started

import pytest

from sfumato.cli.main import run


def in_a_shell(*arguments: str) -> CompletedProcess[str]:
    """The command in a new process, which loads everything first."""
    return started([sys.executable, "-m", "sfumato", *arguments], capture_output=True, text=True, check=False)


def sfumato(*arguments: str) -> CompletedProcess[str]:
    """The same in this process, which has loaded everything."""
    out, err, status = StringIO(), StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["sfumato", *arguments])
        try:
            run()
        except SystemExit as end:
            status = int(end.code or 0)
    return CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
