from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.privacy.predicates import epsilon_delta
from sfumato.report import page as module
from sfumato.report.page import report

VOID = {"meta", "br", "img", "hr", "input", "link"}
space = sf.grid(3, 3, unit="km")
prior = sf.Prior.from_counts(range(1, 10), space)
best = sf.design(prior, sf.losses.distance(space), sf.PrivacyType(space, epsilon="0.7"))


class Outline(HTMLParser):
    """Tags, attributes and whether all that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def written(subject: Any, tmp_path: Path, **told: Any) -> tuple[str, Outline]:
    text = report(subject, tmp_path / "report.html", overwrite=True, **told).page.read_text()
    outline = Outline(text)
    assert outline.open == []
    return text, outline


def test_the_page_asks_nobody_for_anything(tmp_path: Path) -> None:
    text, outline = written(best, tmp_path)
    assert not outline.named("script") and not outline.named("link") and not outline.named("iframe")
    for _, attributes in outline.tags:
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    for word in ("http:", "https:", "//cdn", "@import", "url("):
        assert word not in text
    policy = next(m["content"] for m in outline.named("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "script" not in policy
    assert len(text) < 200_000


def test_the_page_says_what_it_must(tmp_path: Path) -> None:
    text, _ = written(best, tmp_path, file="town.sfm")
    plain = text.replace("\xa0", " ")
    assert "if two places are 1 km apart, seeing the output makes one at most 2.02 times as likely" in plain
    assert "No mechanism with this promise loses less than" in plain
    assert "planar Laplace" in plain and "outputs as they are" in plain
    assert "largest factor for any prior and any gain" in plain
    assert "largest factor of any mechanism with this promise" in plain
    assert "The pair and the output that need the largest ε" in plain
    assert "sfumato verify town.sfm" in plain and "python -I -S kernel.py town.sfm" in plain
    assert sf.save(best.mechanism, tmp_path / "town.sfm") in plain
    assert {"The prior", "The released distribution"} <= set(Outline(text).words)


def test_the_page_can_be_read_without_eyes_and_on_paper(tmp_path: Path) -> None:
    text, outline = written(best, tmp_path)
    assert [tag for tag, _ in outline.tags if tag in ("h1", "h2", "h3")] == ["h1", *["h2"] * 7]
    assert len(outline.named("main")) == len(outline.named("header")) == len(outline.named("footer")) == 1
    assert text.count("<svg ") == text.count('role="img"') == text.count("<figcaption>") == 6
    assert all("<svg viewBox" in part and "<title>" in part[:300] for part in text.split("<figure>")[1:])
    assert text.count("<table>") == text.count("<caption>") == text.count("<thead>")
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {f"#{name}" for name in ids} >= {a["href"] for a in outline.named("a")}
    assert outline.named("html")[0]["lang"] == "en"
    assert "@media print" in text and "size:A4" in text and "prefers-color-scheme:dark" in text


def test_the_same_mechanism_gives_the_same_page(tmp_path: Path) -> None:
    first = written(best, tmp_path)[0]
    assert first == written(best, tmp_path)[0]
    sf.save(best.mechanism, tmp_path / "m.sfm")
    again = written(sf.load(tmp_path / "m.sfm"), tmp_path)[0]
    assert again == first  # the name of the loss is found again


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "‮", "a" * 5000]
)
def test_labels_of_users_stay_text(name: str, tmp_path: Path) -> None:
    called = {"name": name} if name.isprintable() and len(name) < 200 else {}  # others the kernel refuses
    secrets = sf.FiniteSpace([name, "b", "c"], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], **called)
    made = sf.design(sf.Prior.uniform(secrets), sf.losses.bin(secrets), sf.PrivacyType(secrets, epsilon=1))
    text, outline = written(made, tmp_path, title=name, file=name, released={name: 3})
    assert not outline.named("script") and not outline.named("img")
    assert not [a for _, a in outline.tags if any(key.startswith("on") for key in a)]
    assert "‮" not in text
    assert len(text) < 300_000


def test_provenance_and_loss_names_stay_text(tmp_path: Path) -> None:
    line = sf.line(2)
    named = sf.Loss([0, 1], line, [[0, 1], [1, 0]], "<script>")
    made = sf.prove([[2, 1], [1, 2]], sf.PrivacyType(line, alpha="1/2"), provenance={"<b>": "<script>"})
    _, outline = written(made, tmp_path, prior=sf.Prior.uniform(line), loss=named)
    assert not outline.named("script") and not outline.named("b")


def test_promises_about_events_are_said_instead(tmp_path: Path) -> None:
    line = sf.line(4)
    under = (epsilon_delta(epsilon=1, delta="1/10"), line)
    text, _ = written(sf.design(sf.Prior.uniform(line), sf.losses.absolute(line), None, under=under), tmp_path)
    assert "Ask any yes-or-no question about the output" in text
    assert "at most 2.72 times as large for one as for the other, plus 1/10" in text
    assert "neighbours (6 ordered pairs of 4 secrets)" in text
    assert "e<sup>εd</sup>" not in text
    both = sf.design(
        sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, epsilon=2), under=under[0]
    )  # fmt: skip
    text, _ = written(both, tmp_path)
    assert "e<sup>εd</sup>" in text and "any two secrets" in text


@pytest.mark.parametrize(
    "made",
    [
        sf.mechanisms.closest_pair(sf.PrivacyType(sf.hamming(3), alpha="1/2")),
        sf.random_response(sf.PrivacyType(sf.discrete(2), epsilon=1)),
        sf.prove([[1], [1]], sf.PrivacyType(sf.line(2), alpha="1/2")),
        sf.prove([[1, 1]], sf.PrivacyType(sf.line(1), alpha="1/2")),
        sf.geometric(sf.PrivacyType(sf.line(300), alpha="1/2")),
    ],
    ids=["outputs that are no secrets", "two secrets", "constant", "one secret", "long line"],
)
def test_any_mechanism_can_be_reported(made: sf.Mechanism, tmp_path: Path) -> None:
    text, _ = written(made, tmp_path)
    assert "nobody gave a prior" in text


def test_what_was_released_is_drawn(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).choice(len(best.mechanism.outputs), 500)
    told = [best.mechanism.outputs[k] for k in draws]
    text, _ = written(best, tmp_path, released=told, compare=False)
    assert "What 500 releases told." in text
    assert 'id="comparison"' not in text


def test_figures_are_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    done = report(best, tmp_path / "r.html", figures=tmp_path / "new" / "figures")
    assert [path.name for path in done.figures] == [
        f"{name}.svg" for name in ("prior", "released", "cloud", "belief", "matrix", "comparison")
    ]
    for path in done.figures:
        assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")
        assert "var(" not in path.read_text()
    assert Path(done) == tmp_path / "r.html"

    def no_browser(*_: Any, **__: Any) -> None:
        raise RuntimeError("Kaleido requires Google Chrome")

    monkeypatch.setattr(module, "find_spec", lambda _: object())
    monkeypatch.setattr("plotly.io.write_images", no_browser)
    assert len(report(best, tmp_path / "r.html", figures=tmp_path, overwrite=True).figures) == 6

    def drawn(pictures: list[Any], files: list[Path], scale: int) -> None:
        for picture, file in zip(pictures, files, strict=True):
            source = picture.layout.images[0].source
            file.write_bytes(base64.b64decode(source.split(",")[1])[:5])

    monkeypatch.setattr("plotly.io.write_images", drawn)
    done = report(best, tmp_path / "r.html", figures=tmp_path, overwrite=True)
    assert (tmp_path / "prior.png").read_bytes().endswith(b"<svg ")
    assert len(done.figures) == 12


def test_mistakes_are_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=r"\.html"):
        report(best, tmp_path / "report.pdf")
    with pytest.raises(InvalidInput, match="no folder"):
        report(best, tmp_path / "nowhere" / "report.html")
    with pytest.raises(InvalidInput, match="must be a Mechanism"):
        report(prior, tmp_path / "report.html")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
