from __future__ import annotations

import re
import subprocess
import sys

import sfumato as sf
from sfumato import version


def test_the_version_is_one_and_well_formed() -> None:
    assert sf.__version__ == version.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", sf.__version__)


def test_asking_for_the_version_loads_no_room() -> None:
    code = "import sys; import sfumato.version; print([m for m in sys.modules if m.startswith('sfumato.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['sfumato.rooms', 'sfumato.version']"
