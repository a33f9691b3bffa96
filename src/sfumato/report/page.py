"""The report on a mechanism: one HTML file that needs no network, no script and no explanation."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import plotly.graph_objects as go
import plotly.io

from sfumato.arguments import file_path, flag, quoted, text
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.noise import BoxNoise
from sfumato.certify.protocol import drawn
from sfumato.channels.prior import Prior
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.files import DRAWN, place_for, write_whole
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss
from sfumato.report.box_facts import BoxFacts, box_facts
from sfumato.report.box_noise import NoiseFacts, noise_facts
from sfumato.report.box_noise_sections import NOISE_PARTS, noise_figures, noise_intro, noise_proof
from sfumato.report.box_sections import BOX_PARTS, box_drawings, box_intro, box_proof, used_drawing
from sfumato.report.figure import signed
from sfumato.report.html import Figure, escaped, html_page
from sfumato.report.maps_drawing import standalone
from sfumato.report.page_facts import Facts, facts_of
from sfumato.report.sections import PARTS, drawings, peers_drawing, proof_section, secrets_intro
from sfumato.version import __version__


@dataclass(frozen=True, eq=False)
class Report:
    """What was written: the page, figures beside it, and the facts that they show.

    The facts are :class:`~sfumato.report.page_facts.Facts`, or for coordinates
    :class:`~sfumato.report.box_facts.BoxFacts` of a table and :class:`~sfumato.report.box_noise.NoiseFacts` of noise.
    """

    page: Path
    figures: tuple[Path, ...]
    facts: Any

    def __fspath__(self) -> str:
        return str(self.page)

    def __repr__(self) -> str:
        return f"Report({str(self.page)!r}, {len(self.figures)} figures beside it)"


def report(
    subject: Design | Mechanism | BoxMechanism | BoxNoise,
    path: str | PathLike[str],
    *,
    prior: Prior | None = None,
    loss: Loss | CoordinateLoss | None = None,
    compare: bool = True,
    released: Iterable[Any] | Mapping[Any, int] | None = None,
    secret: Any = None,
    title: str = "",
    file: str = "mechanism.sfm",
    figures: str | PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Callable[[str], Any] | None = None,
) -> Report:
    """Write what a mechanism promises, costs and tells, in plain words, as one page that works offline and on paper.

    Parameters
    ----------
    subject
        A design, or any proved mechanism, on a finite space or for coordinates.
    path
        The file to write, ``.html``. It appears whole or not at all.
    prior, loss
        What the losses are about; by default what the mechanism claims. Other ones are measured, without a bound.
    compare
        Whether known mechanisms with the same promise are built beside it.
    released
        Outputs that were released, one for each row, or how often each came: drawn instead of the expected ones.
    secret
        Whose outputs are drawn; the likeliest secret by default. A point, where secrets are coordinates: by default
        the middle of the likeliest cell.
    title
        The heading of the page.
    file
        How the file of the mechanism is called, for the commands that verify it.
    figures
        A folder for the figures: SVG, and PNG where the extra ``figures`` and a browser are there.
    overwrite
        Whether pages and figures of ours that are already there are replaced; any other file never is.
    progress
        Called with what is being done.

    Returns
    -------
    Report
        The page, the figures and the facts.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import sfumato as sf
    >>> space = sf.grid(3, 3, unit="km")
    >>> best = sf.design(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon="0.7"))
    >>> with TemporaryDirectory() as folder:
    ...     text = report(best, f"{folder}/report.html").page.read_text()
    >>> "if two places are 1 km apart, seeing the output makes one at most 2.02 times as likely" in text
    True
    """
    target = file_path(path, "a report")
    title, file = text(title, "the title"), text(file, "the name of the mechanism's file")
    folder = None if figures is None else file_path(figures, "the folder of figures")
    if target.suffix.lower() not in (".html", ".htm"):
        raise NotSupported(f"a report in the file {shown(target.name)}", [".html"])
    place_for(target, DRAWN, overwrite=flag(overwrite, "overwrite"))
    facts = facts_about(
        subject, prior=prior, loss=loss, compare=compare, secret=secret, released=released, progress=progress
    )
    drawn = [] if folder is None else figures_of(facts)
    if folder is not None:
        _look_at_folder(drawn, folder, overwrite)
    write_whole(target, lambda: page_of(facts, title, file), DRAWN, overwrite=overwrite)
    if folder is None:
        return Report(target, (), facts)
    if progress is not None:
        progress("figures")
    return Report(target, tuple(_write_figures(drawn, folder, overwrite)), facts)


def facts_about(
    subject: Design | Mechanism | BoxMechanism | BoxNoise, *, prior: Any = None, loss: Any = None, compare: bool = True,
    **told: Any,
) -> Facts | BoxFacts | NoiseFacts:  # fmt: skip
    """Measure a mechanism for a report, on a finite space or for coordinates; arguments as for :func:`report`."""
    mechanism: Any = drawn(subject.mechanism if isinstance(subject, Design) else subject)
    flag(compare, "compare")
    measured = _MEASURED[mechanism.about, mechanism.drawn_as]
    facts: Facts | BoxFacts | NoiseFacts = measured(subject, mechanism, prior, loss, compare, told)
    return facts


_MEASURED: dict[tuple[str, str], Callable[..., Any]] = {
    **dict.fromkeys(
        (("secrets", "table"), ("secrets", "noise")),
        lambda subject, _, prior, loss, compare, told: facts_of(
            subject, prior=prior, loss=loss, compare=compare, **told
        ),
    ),
    ("coordinates", "table"): lambda _, table, prior, loss, compare, told: box_facts(
        table, prior=prior, loss=loss, **told
    ),
    ("coordinates", "noise"): lambda _, noise, prior, loss, compare, told: noise_facts(
        noise, prior=prior, loss=loss, **told
    ),
}
"""How a mechanism is measured, by what it is about and how it is drawn."""


class _Contents(NamedTuple):
    """What a page is made of: what it is about, its head, its sections, why to believe it, and all its figures."""

    where: Callable[[Any], str]
    intro: Callable[[Any], str]
    parts: Mapping[str, tuple[str, Callable[[Any], str]]]
    proof: Callable[[Any, str], str]
    figures: Callable[[Any], list[Figure]]


def _space_of(facts: Facts) -> str:
    return facts.space.name if facts.bounds_ratios else f"{len(facts.space)} secrets"


_CONTENTS: dict[type, _Contents] = {
    Facts: _Contents(
        _space_of, secrets_intro, PARTS, proof_section,
        lambda facts: drawings(facts) + ([peers_drawing(facts)] if facts.peers else []),
    ),
    BoxFacts: _Contents(
        lambda facts: facts.box.name, box_intro, BOX_PARTS, box_proof,
        lambda facts: [*box_drawings(facts), used_drawing(facts)],
    ),
    NoiseFacts: _Contents(lambda facts: facts.box.name, noise_intro, NOISE_PARTS, noise_proof, noise_figures),
}  # fmt: skip


_FOOTER = (
    f"Written by sfumato {escaped(__version__)}. Numbers that are said to be at most or at least something are rounded "
    "to the safe side; the certificate holds them exactly. This page is complete in itself: it has no script and loads "
    "nothing."
)


def page_of(
    facts: Facts | BoxFacts | NoiseFacts, title: str = "", file: str = "mechanism.sfm", *, notes: Iterable[str] = (),
    first: Sequence[tuple[str, str, str]] = (),
) -> bytes:  # fmt: skip
    """The page of a report; ``title`` and ``file`` as for :func:`report`, ``notes`` are sentences at its head.

    ``first`` are sections of one's own before those on the mechanism: key, heading and text each.
    """
    about = _CONTENTS[type(facts)]
    built = ((key, name, build(facts)) for key, (name, build) in about.parts.items())
    kept = [part for part in (*first, *built, ("certificate", "Why believe it", about.proof(facts, file))) if part[2]]
    head = "".join(f"<p>{escaped(note)}</p>" for note in notes) + about.intro(facts)
    contents = [(key, name) for key, name, _ in kept]
    return html_page(
        title or f"Privacy report: {about.where(facts)}", head, [text for *_, text in kept], contents, _FOOTER
    )


def figures_of(facts: Facts | BoxFacts | NoiseFacts) -> list[Figure]:
    """All figures of a report."""
    return _CONTENTS[type(facts)].figures(facts)


def _look_at_folder(drawn: list[Figure], target: Path, overwrite: bool) -> None:
    """Make the folder of the figures, and refuse what would replace other files, before anything is written."""
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{quoted(target)} is no folder for figures: {error.strerror}") from error
    for figure in drawn:
        for ending in (".svg", ".png"):
            place_for(target / f"{figure.name}{ending}", DRAWN, overwrite=overwrite)


def _write_figures(drawn: list[Figure], target: Path, overwrite: bool) -> list[Path]:
    """Every figure of a report as SVG, and as PNG where the extra ``figures`` and a browser are there."""
    written = []
    for figure in drawn:
        written.append(target / f"{figure.name}.svg")
        write_whole(written[-1], partial(signed, standalone(figure.svg).encode(), "svg"), DRAWN, overwrite=overwrite)
    return written + (_pictures(drawn, target, overwrite) if find_spec("kaleido") is not None else [])


def _pictures(drawn: list[Figure], target: Path, overwrite: bool) -> list[Path]:
    """PNG files from one browser, none where there is no browser."""
    written = []
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{figure.name}.png" for figure in drawn]
        try:
            plotly.io.write_images(list(map(_as_picture, drawn)), files, scale=2)
        except RuntimeError:  # no Chrome or Chromium; the SVG files are there
            return []
        for file in files:
            written.append(target / file.name)
            write_whole(written[-1], partial(signed, file.read_bytes(), "png"), DRAWN, overwrite=overwrite)
    return written


def _as_picture(figure: Figure) -> go.Figure:
    """The drawing inside a figure of plotly, whose browser turns it into pixels."""
    svg = standalone(figure.svg)
    width, height = (round(float(side)) for side in svg.split('viewBox="0 0 ')[1].split('"')[0].split())
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    picture = go.Figure(
        layout={"width": width, "height": height, "margin": dict.fromkeys("lrtb", 0), "template": "none"}
    )
    picture.add_layout_image(source=source, x=0, y=1, sizex=1, sizey=1, xref="paper", yref="paper", sizing="contain")
    return picture.update_xaxes(visible=False).update_yaxes(visible=False)
