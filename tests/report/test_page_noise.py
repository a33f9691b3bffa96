from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.planar import planar_laplace_masses, plane_of
from sfumato.report.maps import map_layout
from sfumato.report.page_noise import laplace_table


def test_on_a_grid_it_is_the_planar_laplace_mechanism() -> None:
    space = sf.grid(6, 5)
    table = laplace_table(space, map_layout(space), np.arange(len(space)), 0.8)
    exact = planar_laplace_masses(plane_of(space), 0.8)
    assert np.abs(table - exact).max() < 0.01
    assert table.sum(axis=1) == pytest.approx(np.ones(len(space)))
    prior, loss = sf.Prior.uniform(space).to_floats(), sf.losses.distance(space)
    ours = float(sf.expected_loss(prior, sf.Channel(space, table, space.labels), loss))
    theirs = float(sf.expected_loss(prior, sf.Channel(space, sf.channels.normalise(exact), space.labels), loss))
    assert ours == pytest.approx(theirs, rel=5e-3)


def test_on_the_earth_it_agrees_with_the_plane_where_that_is_flat() -> None:
    degrees = np.array([(0.0, 0.0), (0.0, 0.1), (0.1, 0.05), (-0.1, 0.02)])
    sphere = sf.geo(degrees)
    flat = sf.points(degrees[:, ::-1] * np.pi / 180 * sf.spaces.EARTH_RADIUS_KM, unit="km")
    tables = [laplace_table(s, map_layout(s), np.arange(4), 0.2) for s in (sphere, flat)]
    assert [map_layout(s).sphere for s in (sphere, flat)] == [True, False]
    assert np.abs(tables[0] - tables[1]).max() < 0.005


def test_outputs_may_be_few() -> None:
    space = sf.grid(4, 4)
    table = laplace_table(space, map_layout(space), np.array([0, 15]), 1.0)
    assert table.shape == (16, 2)
    assert table[0, 0] > 0.8
    assert table[15, 1] == pytest.approx(table[0, 0], abs=0.01)
