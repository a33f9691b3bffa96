"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Compiled functions make a first call slow, so single examples have no deadline. Examples are
# drawn from a fixed seed: a run that fails does so again.
settings.register_profile(
    "sfumato", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("sfumato")
