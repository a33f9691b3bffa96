"""Pages that need nothing but a browser: escaped text, numbers that people read, tables, figures, one file.

Whatever comes from a user goes through :func:`escaped`, which leaves nothing for a browser to interpret. A page has no
script and asks nobody for anything; its policy forbids both. Colours are variables, so that a page is light or dark as
its reader likes, and light on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from html import escape
from math import isfinite
from typing import Any

from sfumato.errors import in_one_line
from sfumato.files import GENERATOR
from sfumato.numbers import exact as as_rational
from sfumato.report.figure import FONT

COLOURS = {
    "ink": ("#1d1f21", "#e9e9e6"),
    "soft": ("#565b60", "#b0b4b8"),
    "paper": ("#ffffff", "#15181b"),
    "card": ("#f4f5f6", "#20252a"),
    "rule": ("#d4d7da", "#3d444b"),
    "blue": ("#0072b2", "#4cb0e8"),
    "orange": ("#b3480a", "#f2994a"),
}
"""Name, colour on light paper and colour on dark; text in each has a contrast of at least 4.5 to its paper."""

_LONGEST_LABEL = 48  # A label of more letters is cut.
_TINY = 1e-4
_SMALLEST_PLAIN, _LARGEST_PLAIN = -4, 15  # powers of ten between which numbers are written without one
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# ----------------------------------------------------------------- text and numbers


def escaped(text: object) -> str:
    r"""Text that a browser shows as it is: markup escaped, letters that cannot be seen spelled out.

    Examples
    --------
    >>> escaped("<script>"), escaped("left" + chr(0x202E) + "right")
    ('&lt;script&gt;', 'left\\u202eright')
    """
    return escape(in_one_line(text))


def label(value: Any, longest: int = _LONGEST_LABEL) -> str:
    """A secret or an output in words, not escaped: a cell is ``(2, 3)``, a number ``0.25``, a long text is cut.

    Examples
    --------
    >>> label((2, 3)), label(0.1 + 0.2), label("Kuala Lumpur", 8)
    ('(2, 3)', '0.3', 'Kuala L…')
    """
    if isinstance(value, tuple):
        text = f"({', '.join(label(part, longest) for part in value)})"
    else:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def near(value: Any, digits: int = 4) -> str:
    """A number rounded to some digits, as people write it.

    Examples
    --------
    >>> near(12.5619), near(1e-7), near(1234567.8), near(0.30000000000000004)
    ('12.56', '10⁻⁷', '1,234,568', '0.3')
    """
    return _rounded(value, digits, ROUND_HALF_EVEN)


def above(value: Any, digits: int = 3) -> str:
    """A number rounded up: what is said to be at most this much is.

    Examples
    --------
    >>> above(2.71828), above(1), above(float("inf"))
    ('2.72', '1', '∞')
    """
    return _rounded(value, digits, ROUND_CEILING)


def below(value: Any, digits: int = 3) -> str:
    """A number rounded down: what is said to be at least this much is.

    Examples
    --------
    >>> below(2.71828), below(Fraction(2, 3))
    ('2.71', '0.666')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def in_percent(value: Any, digits: int = 3, rounding: Any = near) -> str:
    r"""A share of 1 as a percentage.

    Examples
    --------
    >>> in_percent(0.12345), in_percent(Fraction(1, 3), 3, above)
    ('12.3\xa0%', '33.4\xa0%')
    """
    return f"{rounding(100 * value, digits)}\N{NO-BREAK SPACE}%"


def share(value: float) -> str:
    r"""A probability as a percentage; tiny ones are not worth their digits.

    Examples
    --------
    >>> share(0.25), share(1e-9), share(0.0)
    ('25\xa0%', '<\xa00.01\xa0%', '0\xa0%')
    """
    return in_percent(value) if value == 0 or value >= _TINY else f"<\N{NO-BREAK SPACE}{in_percent(_TINY)}"


def how_many(number: int, one: str, many: str = "") -> str:
    """``1 pair``, ``12,000 pairs``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _rounded(value: Any, digits: int, rounding: str) -> str:
    if not isinstance(value, Fraction) and not isfinite(value):
        return "∞" if value > 0 else "−∞"
    rational = as_rational(value)
    with localcontext() as context:
        # an exact quotient of 50 digits is cut to that side before it is rounded to it
        context.prec, context.rounding = 50, rounding
        exact = Decimal(rational.numerator) / rational.denominator
        if not exact:
            return "0"
        unit = exact.adjusted() - digits + 1
        whole = exact.adjusted() < _LARGEST_PLAIN
        rounded = exact.quantize(Decimal(1).scaleb(min(unit, 0) if whole else unit), rounding)
    size = rounded.adjusted()
    if _SMALLEST_PLAIN <= size < _LARGEST_PLAIN:
        text = f"{rounded:,f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace("-", "−")
    factor = f"{rounded.scaleb(-size):.{digits - 1}f}".rstrip("0").rstrip(".").replace("-", "−")
    power = power_of_ten(size)
    return power if factor == "1" else f"{factor} × {power}"


def power_of_ten(exponent: int) -> str:
    """``10⁻⁷``."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


# ----------------------------------------------------------------- parts of a page


@dataclass(frozen=True)
class Figure:
    """A drawing, its name as a file, and what it shows in words; ``wide`` ones have a row of their own."""

    name: str
    svg: str
    caption: str
    wide: bool = False


def section(key: str, title: str, *parts: str) -> str:
    """A part of a page with its heading."""
    return (
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{"".join(parts)}</section>'
    )


def paragraph(*sentences: str, kind: str = "") -> str:
    """Sentences, already escaped."""
    return f"<p{f' class={kind}' if kind else ''}>{' '.join(s for s in sentences if s)}</p>"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: Iterable[int] = ()) -> str:
    """A table with a caption, heads for columns and, in its first column, heads for rows; cells are escaped already.

    ``words`` are columns of text; all others but the first are numbers, set to the right.
    """
    left = {0, *words}
    sides = ["" if k in left else " class=n" for k in range(len(heads))]
    top = "".join(f"<th scope=col{side}>{head}</th>" for head, side in zip(heads, sides, strict=True))
    body = []
    for row in rows:
        first, *rest = row
        cells = "".join(f"<td{side}>{cell}</td>" for cell, side in zip(rest, sides[1:], strict=True))
        body.append(f"<tr><th scope=row>{first}</th>{cells}</tr>")
    return (
        f'<div class=scroll tabindex=0 role=region aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def figures(drawn: Iterable[Figure]) -> str:
    """Figures beside each other, as many as fit."""
    inside = (
        f"<figure{' class=wide' if one.wide else ''}>{one.svg}<figcaption>{one.caption}</figcaption></figure>"
        for one in drawn
    )
    return f"<div class=figures>{''.join(inside)}</div>"


def commands(*lines: str) -> str:
    """Lines to type, not escaped yet."""
    return f"<pre><code>{'&#10;'.join(map(escaped, lines))}</code></pre>"


# ----------------------------------------------------------------- the page

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def _variables(dark: bool) -> str:
    return "".join(f"--{name}:{both[dark]};" for name, both in COLOURS.items())


_STYLE = (
    ":root{color-scheme:light dark;" + _variables(False) + "}"
    "@media (prefers-color-scheme:dark){:root{" + _variables(True) + "}}"
    "@media print{:root{color-scheme:light;" + _variables(False) + "}}"
    "*{box-sizing:border-box}"
    f"html{{font:16px/1.5 {FONT};-webkit-text-size-adjust:100%}}"
    """
body{margin:0;background:var(--paper);color:var(--ink)}
main,header,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .6rem}
section{margin:2.6rem 0 0;padding-top:1.1rem;border-top:1px solid var(--rule)}
p{margin:.6rem 0;max-width:46rem;overflow-wrap:break-word}
.soft,figcaption,caption,footer{color:var(--soft)}
.lead{font-size:1.12rem}
dl.numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(12.5rem,1fr));gap:.8rem;margin:1.4rem 0 0}
dl.numbers>div{background:var(--card);border-radius:.5rem;padding:.8rem 1rem}
dl.numbers dt{color:var(--soft);font-size:.9rem}
dl.numbers dd{margin:0}
dl.numbers dd:nth-of-type(1){font-size:1.5rem;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
dl.numbers dd:nth-of-type(2){font-size:.9rem}
nav{margin:1.2rem 0 0;font-size:.95rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:0;padding:0}
a{color:var(--blue)}
.scroll{overflow-x:auto;margin:1rem 0}
.scroll:focus-visible,a:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
table{border-collapse:collapse;min-width:min(100%,24rem);font-size:.95rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:0 0 .5rem;font-size:.92rem}
th,td{text-align:left;padding:.32rem 1.4rem .32rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
th[scope=row]{font-weight:400;overflow-wrap:anywhere;min-width:8.5rem}
th:last-child,td:last-child{padding-right:0}
.n{text-align:right}
td.n{white-space:nowrap}
thead th{vertical-align:bottom}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1.6rem 2rem}
.figures{margin:1.2rem 0}
figure{margin:0;min-width:0}
figure.wide{grid-column:1/-1;max-width:34rem}
figure svg{display:block;width:100%;height:auto;max-width:40rem}
figcaption{font-size:.92rem;margin-top:.4rem;max-width:40rem}
pre{background:var(--card);border-radius:.5rem;padding:.8rem 1rem;overflow-x:auto;font-size:.88rem}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace}
p code,td code{overflow-wrap:anywhere;font-size:.92em}
footer{margin-top:3rem;padding-bottom:3rem;font-size:.9rem}
@media (max-width:30rem){th,td{padding-right:.7rem}th[scope=row]{min-width:5.5rem}}
@page{size:A4;margin:14mm 16mm}
@media print{
html{font-size:10pt}
main,header,footer{max-width:none;padding:0}
header{padding-top:0}
nav{display:none}
section{margin-top:1.2rem;padding-top:.8rem}
h2{margin-bottom:.4rem}
th,td{padding-top:.2rem;padding-bottom:.2rem}
.scroll,.figures{margin:.7rem 0}
h2,caption,thead,p:has(+.scroll),p:has(+.figures),p:has(+pre){break-after:avoid}
p,figure,tr,pre,dl.numbers{break-inside:avoid}
tbody tr:nth-child(-n+2),tbody tr:nth-last-child(2),tbody tr:nth-last-child(3){break-after:avoid}
dl.numbers{grid-auto-flow:column;grid-auto-columns:1fr;grid-template-columns:none}
dl.numbers dd:nth-of-type(1){font-size:1.25rem}
.figures{grid-template-columns:1fr 1fr;gap:1rem 1.4rem}
figure svg{max-height:5.6cm;width:auto;max-width:100%}
figcaption{margin-top:.2rem}
.scroll{overflow:visible}
pre{white-space:pre-wrap;border:1px solid var(--rule)}
dl.numbers>div{border:1px solid var(--rule)}
footer{margin-top:1.5rem;padding-bottom:0}
}
"""
)


def html_page(
    title: str, intro: str, parts: Sequence[str], contents: Sequence[tuple[str, str]], footer: str, *, style: str = "",
    script: str = "",
) -> bytes:  # fmt: skip
    """The whole file. ``title`` is not escaped yet, the other texts are; ``script`` is ours, and allowed to run."""
    code = f"<script>{script}</script>\n" if script else ""
    policy = "" if script else f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in contents)
    nav = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if links else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{policy}"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="{GENERATOR}">\n'
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}{style}</style>\n{code}</head>\n<body>\n"
        f"<header><h1>{escaped(title)}</h1>{intro}"
        f"{nav}</header>\n"
        f"<main>\n{chr(10).join(parts)}\n</main>\n<footer>{footer}</footer>\n</body>\n</html>\n"
    ).encode()
