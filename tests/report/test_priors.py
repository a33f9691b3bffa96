"""Maps of priors on three secrets: losses and regrets beside the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.papers.paper_a import UNIVERSAL
from sfumato.report.priors import entropy_surface, prior_map, prior_map_figure
from sfumato.theory.universal import universal_design

PRIVACY = sf.PrivacyType(sf.discrete(3), alpha="1/2")
LOSS = sf.losses.bin(PRIVACY.space)


def test_regrets_are_those_of_designs() -> None:
    response = sf.random_response(PRIVACY)
    found = prior_map({"response": response}, LOSS, PRIVACY, 6)
    assert len(found.priors) == 28
    for k in (0, 5, 11, 20):
        prior = sf.Prior.from_counts((6 * found.priors[k]).round().astype(int).tolist(), PRIVACY.space)
        best = sf.design(prior, LOSS, PRIVACY)
        lost = float(sf.posterior_loss(prior, response.channel, LOSS))
        assert found.least[k] == pytest.approx(float(best.loss))
        assert found.regret("response")[k] == pytest.approx(lost - float(best.loss), abs=1e-12)


def test_least_regret_is_what_the_map_shows() -> None:
    made = universal_design(LOSS, PRIVACY)
    found = prior_map({"least": made.mechanism, "closest": sf.mechanisms.closest_pair(PRIVACY)}, LOSS, PRIVACY)
    assert made.upper is not None
    assert found.regret("least").max() <= float(made.upper) + 1e-12
    assert found.regret("closest").max() > float(made.upper)
    figure = prior_map_figure(found)
    assert len(figure.layout.annotations) == 4  # three titles and a caption
    assert {trace.name for trace in figure.data if trace.showlegend} <= {"least", "closest", "as good as each other"}


def test_items_of_paper_a_agree() -> None:
    for key, item in UNIVERSAL.items():
        table = item()
        assert table.key == key
        cells = [cell for row in table.rows for cell in row.values() if isinstance(cell, dict)]
        assert cells
        wrong = [row for row in table.rows if not all(cell["agree"] for cell in row.values() if isinstance(cell, dict))]
        # Theorem 12 is false for two actions, and right for all others.
        assert all(key == "A.theorem12" and row["actions"] == 2 for row in wrong), key
    assert UNIVERSAL["A.fig3"]().figure is not None


def test_a_surface_has_a_plane_for_each_action() -> None:
    surface = entropy_surface(sf.losses.nib(["a", "b", "c"]))
    heights = np.asarray(surface.data[0].z)
    assert heights.max() == pytest.approx(1 / 3)
    assert heights.min() == 0


def test_only_three_secrets() -> None:
    four = sf.PrivacyType(sf.line(4), alpha="1/2")
    with pytest.raises(NotSupported):
        prior_map({}, sf.losses.bin(four.space), four)
    with pytest.raises(NotSupported):
        entropy_surface(sf.losses.bin(four.space))
    with pytest.raises(InvalidInput, match="at least 2"):
        prior_map({}, LOSS, PRIVACY, 1)
    with pytest.raises(InvalidInput, match="must be a Channel"):
        prior_map({"table": [[1]]}, LOSS, PRIVACY)
