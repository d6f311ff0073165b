"""Which tests a file reaches, counted in imports.

A test that names what a file defines, or that stands in the folder of its room, is one step from it; whoever imports
that is one further.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from xlascope.names import find_homes

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    "xlascope": ROOT / "core",
    "xlascope_ipython": ROOT / "kernel_ext",
    "xlascope_jax": ROOT / "kernel_ext",
    "xlascope_widgets": ROOT / "widgets",
    "tests": ROOT,
}
#: Packages, and the folders of tests that are laid out as they are.
MIRRORED = {
    "core/xlascope": "core",
    "kernel_ext/xlascope_ipython": "kernel_ext",
    "kernel_ext/xlascope_jax": "jax",
    "widgets/xlascope_widgets": "widgets",
}
#: Packages whose names are found on first use, and how programs call them.
LAZY = ("xlascope", "xlascope.numpy", "xlascope.lax")
_USED = re.compile(r"\b(?:xs|xlascope|jnp|numpy|lax|library)\.([a-z]\w*)")


def reached(changed: Iterable[Path]) -> list[Path]:
    """Test files, and changed files with doctests, by their distance from what has changed."""
    users = _users()
    distance = dict.fromkeys(changed, 0)
    level = list(distance)
    while level:
        level = [user for path in level for user in sorted(users[path]) if user not in distance]
        distance |= {path: 1 + max(distance.values()) for path in level}
    tests = [path for path in distance if is_test(path) or (distance[path] == 0 and has_examples(path))]
    return sorted(tests, key=lambda path: distance[path])


@functools.cache
def _users() -> dict[Path, set[Path]]:
    """Who uses a file, by its imports, by public names, or by standing in the folder of its tests."""
    files = {_module(path): path for path in _files()}
    homes = {name: home.module for package in LAZY for name, home in find_homes(package, _stub(package)).items()}
    users = defaultdict(set)
    for path in files.values():
        for module in _used(path, homes):
            if (there := files.get(module)) and there != path:
                users[there].add(path)
        for mirrored in _mirrored(path):
            users[mirrored].add(path)
    return users


def _files() -> Iterator[Path]:
    return (path for package, source in SOURCES.items() for path in (source / package).rglob("*.py"))


def _module(path: Path) -> str:
    for source in SOURCES.values():
        if source != ROOT and path.is_relative_to(source):
            return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _stub(package: str) -> Path:
    return SOURCES["xlascope"].joinpath(*package.split("."), "__init__.pyi")


def _used(path: Path, homes: dict[str, str]) -> Iterator[str]:
    """The modules that a file imports, and in tests those where the public names are that it calls."""
    text = path.read_text(encoding="utf-8")
    package = _module(path).split(".") if path.name == "__init__.py" else _module(path).split(".")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
    if path.is_relative_to(ROOT / "tests"):
        yield from (homes[name] for name in set(_USED.findall(text)) if name in homes)
        beside = path.with_name(path.name.removeprefix("test_"))  # the table of a file of tests
        yield from [_module(beside)] if beside != path else []


def _mirrored(test: Path) -> Iterator[Path]:
    """The files whose tests stand in a test's folder: a room of the engine, or another package."""
    for package, folder_name in MIRRORED.items():
        folder = ROOT / "tests" / folder_name
        if test.is_relative_to(folder) and (test.parent != folder or folder.name != "core"):
            yield from (ROOT / package / test.parent.relative_to(folder)).glob("**/*.*")


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests") and path.name.startswith("test_") and path.suffix == ".py"


def has_examples(path: Path) -> bool:
    return path.suffix == ".py" and path.exists() and ">>> " in path.read_text(encoding="utf-8")
