"""The kernel as one file: what runs alone on a saved mechanism, in an interpreter without packages.

The kernel is a package of modules that import names of each other and of the standard library and nothing else, and no
two of them define the same name at their top. So they can be put one behind the other, those that are imported first.
What they import from the standard library stands once, at the top, and what they say of themselves above each.

    python src/sfumato/certify/bundle.py kernel.py
    python -I -S kernel.py mechanism.sfm
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import tempfile
from pathlib import Path

ENTRY = "__main__"
_PACKAGE = "sfumato.certify.kernel."
_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]  # of a checkout
_RULE = "# " + "-" * 65


def kernel_file() -> Path:
    """The kernel as one file, which wheels contain; it is made where it is missing, or where its modules have changed.

    Examples
    --------
    >>> kernel_file().name
    'kernel.py'
    """
    path = (_ROOT / "build" if (_ROOT / "pyproject.toml").is_file() else _HERE / "alone") / "kernel.py"
    if not path.is_file() or path.read_bytes() != bundle().encode():
        write(path)
    return path


def write(path: Path) -> None:
    """Make the file in one step: who reads it at that moment sees the one before, or all of the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(bundle().encode())
    Path(beside).chmod(0o644)
    Path(beside).replace(path)


def bundle(folder: Path | None = None) -> str:
    """All modules as one, the same bytes each time.

    Examples
    --------
    >>> print(bundle().splitlines()[-1])
        sys.exit(main(sys.argv[1:]))
    """
    place = folder or _HERE / "kernel"
    order: dict[str, _Module] = {}
    _collect(ENTRY, place, order)
    _refuse_clashes(list(order.values()))
    parts = [f"{_RULE} {name.strip('_')}\n\n{module.comment}\n\n\n{module.text}" for name, module in order.items()]
    return "\n\n\n".join([f"{_Module(place / '__init__.py').says}\n\n{_imports(list(order.values()))}", *parts]) + "\n"


class _Module:
    """What a module says of itself, what it imports, which names it defines, and its text without the first two."""

    def __init__(self, path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        lines, (first, *nodes) = source.split("\n"), ast.parse(source).body
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
            raise ValueError(f"{path.name} does not begin with what it is")
        self.says = "\n".join(lines[: first.end_lineno])
        self.comment = "\n".join(f"# {line}".rstrip() for line in str(first.value.value).splitlines())
        self.ours: list[str] = []
        self.standard: set[tuple[str, str]] = set()  # (module, name), or no name for the module itself
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._note(node, path.name)
        self.names = [name for node in nodes for name in _defined(node)]
        heads = [node for node in (first, *nodes) if isinstance(node, ast.Import | ast.ImportFrom) or node is first]
        spoken = {k for node in heads for k in range(node.lineno, (node.end_lineno or 0) + 1)}
        self.text = "\n".join(line for k, line in enumerate(lines, 1) if k not in spoken).strip("\n")

    def _note(self, node: ast.Import | ast.ImportFrom, file: str) -> None:
        """Keep what a statement imports, in the two forms that can be told from a distance."""
        names = [alias.name for alias in node.names]
        module = (node.module or "") if isinstance(node, ast.ImportFrom) and not node.level else ""
        plain = isinstance(node, ast.Import) and not any("." in name for name in names)
        if not (module or plain) or any(alias.asname or alias.name == "*" for alias in node.names):
            raise ValueError(f"{file} imports otherwise than `import a` or `from a import b`: it cannot be a part")
        if module.startswith(_PACKAGE):
            self.ours.append(module.removeprefix(_PACKAGE))
        else:
            self.standard |= {(module, name) if module else (name, "") for name in names}


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module gives a value."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return []


def _collect(name: str, folder: Path, order: dict[str, _Module]) -> None:
    """Put the modules that a module imports before it."""
    module = _Module(folder / f"{name}.py")
    for other in module.ours:
        if other not in order:
            _collect(other, folder, order)
    order[name] = module


def _refuse_clashes(modules: list[_Module]) -> None:
    """One name is one thing in all modules, and none of Python's own."""
    imported = sorted(name or module for module, name in set().union(*(one.standard for one in modules)))
    names = [*dir(builtins), *imported, *(name for one in modules for name in set(one.names))]
    twice = sorted({name for name in names if not name.startswith("__") and names.count(name) > 1})
    if twice:
        raise ValueError(f"two modules define {', '.join(twice)}: they cannot be one")


def _imports(modules: list[_Module]) -> str:
    """What all modules import from the standard library."""
    origins: dict[str, list[str]] = {}
    for module, name in sorted(set().union(*(one.standard for one in modules))):
        origins.setdefault(module, []).extend([name] if name else [])
    whole = [f"import {module}" for module in sorted({m for one in modules for m, name in one.standard if not name})]
    return "\n".join(whole + [f"from {module} import {', '.join(names)}" for module, names in origins.items() if names])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
