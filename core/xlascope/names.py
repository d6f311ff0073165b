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
_DECLARATION = re.compile(r"^(\w+): ", re.MULTILINE)


class NameLocation(NamedTuple):
    """Location of a public name: the module's full name, and the name there (``""`` for the module itself)."""

    module: str
    name: str


def find_homes(package: str, stub: Path) -> dict[str, NameLocation]:
    """Return where each public name of a package is defined, according to its stub.

    ``stub`` is the path of the ``.pyi`` file beside the package's ``__init__.py``.

    >>> import xlascope.numpy
    >>> find_homes("xlascope.numpy", Path(xlascope.numpy.__file__).with_suffix(".pyi"))["arange"]
    NameLocation(module='xlascope.numpy.ranges', name='arange')
    """
    return dict(_iter_homes(package.split("."), stub))


def _iter_homes(package: list[str], stub: Path) -> Iterator[tuple[str, NameLocation]]:
    """Yield each public name that a stub imports, with its location; ``package`` is its name, split at dots."""
    text = stub.read_text(encoding="utf-8")
    for dots, path, source_name, name, everything in _IMPORT.findall(text):
        module = [*package[: len(package) + 1 - len(dots)], *filter(None, path.split("."))]
        if everything:
            yield from _iter_declared(module, stub.parent / f"{path}.pyi", package)
        elif path:
            yield name, NameLocation(".".join(module), source_name)
        else:
            yield name, NameLocation(".".join([*module, source_name]), "")


def _iter_declared(module: list[str], stub: Path, package: list[str]) -> Iterator[tuple[str, NameLocation]]:
    """Yield each name that the stub of a module imports or annotates, with its location.

    ``module`` and ``package`` are the names of the module and of its package, split at dots.
    """
    yield from _iter_homes(package, stub)
    for name in _DECLARATION.findall(stub.read_text(encoding="utf-8")):
        yield name, NameLocation(".".join(module), name)


def make_lazy_attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package, to be set in its ``__init__.py``.

    ``__getattr__`` imports the module of a name when the name is first used and stores it as an ordinary
    attribute.
    """
    module_object = sys.modules[package]
    homes = find_homes(package, Path(str(module_object.__file__)).with_suffix(".pyi"))

    def get_attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":  # it imports the module afterwards
                raise AttributeError(name)
            present = (key for key, value in vars(module_object).items() if not isinstance(value, ModuleType))
            raise _make_error(package, name, [*present, *homes])  # without internal modules that happen to be loaded
        module = importlib.import_module(home.module)
        value = getattr(module, home.name) if home.name else module
        setattr(module_object, name, value)
        return value

    return get_attribute, lambda: sorted({*vars(module_object), *homes}), list(homes)


# Names that are not there --------------------------------------------------------------------------------------------


def explain_missing(module: str) -> None:
    """Give a module a ``__getattr__`` that says whether jax has a missing name, or suggests similar names.

    ``module`` is the full name of the module, which is in ``sys.modules``.
    """
    module_object = sys.modules[module]

    def raise_missing(name: str) -> Any:
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise AttributeError(name)
        raise _make_error(module, name, vars(module_object))

    module_object.__getattr__ = raise_missing  # type: ignore[method-assign]


def _make_error(module: str, name: str, available: Iterable[str]) -> Exception:
    """Return the error for a missing name; to be called directly by a module's ``__getattr__``.

    ``available`` are the names that the module has; they serve as suggestions.
    """
    if name.startswith("_"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    error: Exception = importlib.import_module("xlascope.missing").error_of(module, name, available, sys._getframe(2))
    return error


class _ExplainingFinder:
    """Finder in ``sys.meta_path`` that explains failed imports of modules of xlascope; it finds no module."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return None; raise ModuleNotFoundError with an explanation if an ``import`` of a module of xlascope fails.

        Mere lookups of a module (``importlib.util.find_spec``) do not raise.
        """
        package, _, last = name.rpartition(".")
        if package.partition(".")[0] != "xlascope" or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        if hasattr(sys.modules[package], last):
            text = f"; {last} is a name of {package} and no module: write from {package} import {last}"
        else:
            text = importlib.import_module("xlascope.missing").explanation(package, last, dir(sys.modules[package]))
        raise ModuleNotFoundError(f"No module named {name!r}{text}", name=name)


if not any(type(finder).__name__ == _ExplainingFinder.__name__ for finder in sys.meta_path):
    sys.meta_path.append(_ExplainingFinder())
