"""Lazy public names: importing a package loads only the modules whose names are used.

The stub beside a package's ``__init__.py`` is the one list of its names, a line each, which type checkers
read as well::

    from .creation import arange as arange

Export, ``dir``, ``__all__``, the index in the documentation and the tests of names follow from it. A line
``from .primitives import *`` stands for the names in the stub of that module.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_IMPORT = re.compile(r"^from (\.+)([\w.]*) import (?:(\w+) as (\w+)|(\*))$", re.MULTILINE)
_DECLARED = re.compile(r"^(\w+): ", re.MULTILINE)


class Home(NamedTuple):
    """Location of a public name: the module, and its name there (``""`` for the module itself)."""

    module: str
    name: str


def homes_of(package: str, stub: Path) -> dict[str, Home]:
    """Return the locations of the public names of a package, from its stub.

    >>> import xlascope.numpy
    >>> find_homes("xlascope.numpy", Path(xlascope.numpy.__file__).with_suffix(".pyi"))["arange"]
    NameLocation(module='xlascope.numpy.ranges', name='arange')
    """
    return dict(_homes(package.split("."), stub))


def _homes(package: list[str], stub: Path) -> Iterator[tuple[str, Home]]:
    text = stub.read_text(encoding="utf-8")
    for dots, path, source_name, name, everything in _IMPORT.findall(text):
        module = [*package[: len(package) + 1 - len(dots)], *filter(None, path.split("."))]
        if everything:
            yield from _declared(module, stub.parent / f"{path}.pyi", package)
        elif path:
            yield name, Home(".".join(module), source_name)
        else:
            yield name, Home(".".join([*module, source_name]), "")


def _declared(module: list[str], stub: Path, package: list[str]) -> Iterator[tuple[str, Home]]:
    yield from _homes(package, stub)
    for name in _DECLARED.findall(stub.read_text(encoding="utf-8")):
        yield name, Home(".".join(module), name)


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package, to be set in its ``__init__.py``.

    A name becomes an ordinary attribute when it is first resolved.
    """
    module_object = sys.modules[package]
    homes = homes_of(package, Path(str(module_object.__file__)).with_suffix(".pyi"))

    def get_attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":  # it imports the module afterwards
                raise AttributeError(name)
            present = (key for key, value in vars(module_object).items() if not isinstance(value, ModuleType))
            raise _error_of(package, name, [*present, *homes])  # without internal modules that happen to be loaded
        module = importlib.import_module(home.module)
        value = getattr(module, home.name) if home.name else module
        setattr(module_object, name, value)
        return value

    return get_attribute, lambda: sorted({*vars(module_object), *homes}), list(homes)


# Names that are not there --------------------------------------------------------------------------------------------


def explain_missing(module: str) -> None:
    """Give a module a ``__getattr__`` that says whether jax has a missing name, or what may be meant."""
    module_object = sys.modules[module]

    def raise_missing(name: str) -> Any:
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise AttributeError(name)
        raise _error_of(module, name, vars(module_object))

    module_object.__getattr__ = raise_missing  # type: ignore[method-assign]


def _error_of(module: str, name: str, available: Iterable[str]) -> Exception:
    """Return the error for a missing name; to be called by a module's ``__getattr__``."""
    if name.startswith("_"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    error: Exception = importlib.import_module("xlascope.missing").error_of(module, name, available, sys._getframe(2))
    return error


class _LastFinder:
    """Finder that explains a failed import of a module; mere lookups of the module get a plain "no"."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return None: this finder finds no module."""
        package, _, last = name.rpartition(".")
        if package.partition(".")[0] != "xlascope" or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        text = importlib.import_module("xlascope.missing").explanation(package, last, dir(sys.modules[package]))
        raise ModuleNotFoundError(f"No module named {name!r}{text}", name=name)


if not any(type(finder).__name__ == _LastFinder.__name__ for finder in sys.meta_path):
    sys.meta_path.append(_LastFinder())
