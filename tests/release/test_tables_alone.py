"""Secrets that stand in no table: lists, series and arrays."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.rows import BadRow


@pytest.mark.parametrize("made", [
    list, tuple, pa.array, lambda values: pa.chunked_array([values]), lambda values: pd.Series(values, index=[7, 8, 9]),
    lambda values: pl.Series("mood", values),
])  # fmt: skip
def test_secrets_alone_come_back_as_they_were_given(made: Any) -> None:
    """Drawn with a mechanism that tells the truth, nearly always."""
    honest = sf.random_response(sf.PrivacyType(sf.discrete(["low", "mid", "high"]), epsilon=60))
    given = made(["high", "low", "low"])
    told = honest.release(given)
    assert type(told) is type(given) and list(map(str, told)) == list(map(str, given))
    assert getattr(told, "name", None) == getattr(given, "name", None)
    if hasattr(given, "index") and not callable(given.index):
        assert told.index.tolist() == given.index.tolist()


def test_secrets_alone_are_a_list_and_unknown_ones_are_refused_or_left_out() -> None:
    survey = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1))
    with pytest.raises(BadRow, match="did you mean 'yes'"):
        survey.release(["no", "yess"])
    assert len(survey.release(["no", "yess"], on_unknown="drop", most_dropped=1)) == 1
    with pytest.raises(InvalidInput, match="name the column that is released"):
        survey.release(pd.DataFrame({"a": ["no"]}))
    with pytest.raises(InvalidInput, match="texts, or numbers of one kind"):
        survey.release(["no", 1])
