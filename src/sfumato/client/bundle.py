"""One ES module of the sources in ``js/src``: what browsers load, what the npm package ships and what pages contain.

The sources are modules that import each other by name and nothing else, and no two of them define the same name at
their top. So they can be put one behind the other, without their imports: no bundler has to be installed. Comments that
stand on lines of their own, ends of lines (every statement has its semicolon), spaces that separate no words, and what
separates nothing before a closing bracket are left out, and ``const`` is ``let``; names stay as they are.

    python bundle.py js/sfumato.mjs
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ENTRY = "sfumato.mjs"
FIRST_LINE = "// sfumato.js, made of js/src; Apache-2.0\n"
_HERE = Path(__file__).resolve().parent
_INSTALLED, _CHECKOUT = _HERE / "js", _HERE.parents[2] / "js" / "src"

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_AGAIN = re.compile(r'^export \{([^}]*)\} from "\./([\w.]+)";\n', re.MULTILINE)
_NAMED = re.compile(r"^(?:export )?(?:const|let|class|function\*?|async function) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
# Texts, templates (none inside of another) and regular expressions stay; so does a space between words, or + and +.
_TEXT = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`"""
_PATTERN = r"(?:(?<=[=(,:])|(?<=[=(,:] ))/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/"
_SPACE = r" (?![\w$+-])|(?<![\w$+-]) |(?<=[\w$]) (?=[+-])|(?<=[+-]) (?=[\w$])"
_NEEDLESS = r";(?= ?\})|,(?= ?[\])}])"
_SPARED = re.compile(f"({_TEXT}|{_PATTERN})|\\bconst\\b|{_NEEDLESS}|{_SPACE}")
_SHORTER = {"const": "let"}  # one word instead of two is packed better, and nothing is assigned twice


def sources() -> Path:
    """The folder of the modules: beside this file where the package is installed, in ``js`` in a checkout."""
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def bundle(folder: Path | None = None) -> str:
    """All modules as one.

    Examples
    --------
    >>> print(bundle().splitlines()[-1])
    export { InvalidInput, Mechanism, Refuted, Remembered, Unreadable, load, verify };
    """
    order: dict[str, str] = {}
    _collect(ENTRY, folder or sources(), order)
    names = [name for text in order.values() for name in _NAMED.findall(text)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two modules define {', '.join(twice)}: they cannot be one")
    told = sorted(name for names, _ in _AGAIN.findall(order[ENTRY]) for name in re.findall(r"\w+", names))
    plain = "".join(_plain(text) for text in order.values())
    return f"{FIRST_LINE}{plain}\nexport {{ {', '.join(told)} }};\n"


def _collect(name: str, folder: Path, order: dict[str, str]) -> None:
    """Put the modules that a module imports before it."""
    text = (folder / name).read_text(encoding="utf-8")
    for other in [*_IMPORT.findall(text), *(place for _, place in _AGAIN.findall(text))]:
        if other not in order:
            _collect(other, folder, order)
    order[name] = text


def _plain(text: str) -> str:
    text = _COMMENT.sub("", _AGAIN.sub("", _IMPORT.sub("", text)))
    lines = (line.strip() for line in text.removeprefix("\n").splitlines())
    joined = " ".join(line.removeprefix("export ") for line in lines if line)
    return _SPARED.sub(lambda found: found[1] or _SHORTER.get(found[0], ""), joined)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(bundle(), encoding="utf-8")
