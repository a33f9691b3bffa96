from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.errors import InvalidInput


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without files of the demonstration, which would be refused first."""
    monkeypatch.chdir(tmp_path)


def said(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_every_command_with_an_epsilon_reads_logarithms(tmp_path: Path) -> None:
    record = json.loads(said("capacity", "line:3", "--epsilon", "ln(2)", "--json"))
    assert record == json.loads(said("capacity", "line:3", "--alpha", "1/2", "--json"))
    assert json.loads(said("kernels", "line:3", "--epsilon", "2*ln(3)", "--json"))["alpha"] == "1/9"
    (tmp_path / "m.csv").write_text("2/3,1/3\n1/3,2/3\n")
    audited = json.loads(said("audit", str(tmp_path / "m.csv"), "--space", "line:2", "--epsilon", "ln 2", "--json"))
    assert audited["promise"] == {"alpha": "1/2"}
    limited = json.loads(said("ledger", "limit", str(tmp_path / "spent.ledger"), "--epsilon", "3*ln(2)", "--json"))
    assert limited["limit"] == "alpha 1/8"
    (tmp_path / "s.toml").write_text("[space]\nkind = 'line'\nn = 3\n[loss]\nkind = 'absolute'\n")
    shown = said("curve", str(tmp_path / "s.toml"), "--epsilons", "ln(2)/30,ln 2,1", "--json").splitlines()
    assert [json.loads(line)["epsilon"] for line in shown] == pytest.approx([0.0231049060186648, 0.693147180559945, 1])


@pytest.mark.parametrize("words", [
    ("capacity", "line:3", "--epsilon"), ("ledger", "limit", "spent.ledger", "--epsilon"),
    ("curve", "none.toml", "--epsilons"), ("demo", "--epsilon"),
])  # fmt: skip
def test_what_is_no_promise_is_said_with_the_option(words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=f"^{words[-1]}: ln 2/30 can be read in two ways"):
        said(*words, "ln 2/30")
    with pytest.raises(
        InvalidInput, match=rf"^{words[-1]}: epsilon must be a number such as .*ln\(2\)/30 .*, found 'much'"
    ):
        said(*words, "much")


@pytest.mark.parametrize("text", ["1e999999999", "9" * 10**5])
def test_digits_without_end_are_refused_at_once(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("1/2,1/2\n1/2,1/2\n")
    (tmp_path / "s.toml").write_text("[space]\nkind = 'line'\nn = 3\n")
    spent, matrix, spec = (str(tmp_path / name) for name in ("spent.ledger", "m.csv", "s.toml"))
    for words in (
        ("capacity", "line:3", "--epsilon", text), ("capacity", "line:3", "--alpha", text),
        ("capacity", f"line:{text}"), ("compare-known", "line:3", "--prior", f"{text},1,1"),
        ("ledger", "limit", spent, "--epsilon", text), ("ledger", "limit", spent, "--alpha", text),
        ("audit", matrix, "--epsilon", text), ("audit", matrix, "--tolerance", text),
        ("curve", spec, "--epsilons", text), ("calibrate", spec, "--target", text), ("demo", "--epsilon", text),
        ("compare-known", "line:3", "--loss", f"threshold:{text}"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as caught:
            said(*words)
        assert len(str(caught.value)) < 300
