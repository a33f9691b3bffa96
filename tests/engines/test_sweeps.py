"""Sweeps over ε on a Dask cluster."""

from __future__ import annotations

import pytest

import sfumato as sf

pytestmark = pytest.mark.engines


def test_a_curve_on_dask_is_the_curve() -> None:
    from distributed import Client, LocalCluster

    space = sf.line(4)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    here = sf.curve(prior, loss, space, ["0.5", 1, 2])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        there = sf.curve(prior, loss, space, ["0.5", 1, 2], executor=client.get_executor())
    for made, other in zip(there.designs, here.designs, strict=True):
        assert max(made.bound, other.bound) <= min(made.loss, other.loss) and made.gap < 1e-3
        assert sf.verify(made.mechanism)
