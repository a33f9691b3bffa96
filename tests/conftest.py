"""Settings shared by all tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

from effort import tried

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
