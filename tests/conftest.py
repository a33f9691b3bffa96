"""Settings shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

from compiling import compile_one_at_a_time
from effort import tried

# A shell starts its background jobs deaf to interrupts; here tests and the processes that they start hear them.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Thousands of tests are objects that stay: to look through them again and again for what may go takes a tenth of a run.
gc.disable()
if "PYTEST_XDIST_WORKER" in os.environ:
    compile_one_at_a_time()

# Compiled functions make a first call slow, so single examples have no deadline. Examples are
# drawn from a fixed seed: a run that fails does so again.
settings.register_profile(
    "sfumato", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("sfumato")

_SETTINGS = "_hypothesis_internal_use_settings"  # where Hypothesis keeps those of a test; there is no public name


def pytest_collection_modifyitems(items: Iterable[Any]) -> None:
    """Tests of theorems try as many examples as :mod:`effort` says, each of them set once."""
    tests = {id(test): test for item in items if (test := getattr(item, "obj", None)) is not None}
    for test in tests.values():
        function = getattr(test, "__func__", test)
        if hasattr(function, "hypothesis"):
            given = getattr(function, _SETTINGS, None) or settings()
            setattr(function, _SETTINGS, settings(given, max_examples=tried(given.max_examples)))


def pytest_collection_finish() -> None:
    """What was collected stays to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()
