"""Public names, found on first use: importing a package loads nothing that its user does not ask for.

The stub beside a package's ``__init__.py`` is the one list of its names, a line each, which tools read as they are::

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
    """Where a public name lives: the module, and its name there (``""`` for the module itself)."""

    module: str
    name: str


def homes_of(package: str, stub: Path) -> dict[str, Home]:
    """The public names of a package, by its stub.

    >>> import xlascope.numpy
    >>> homes_of("xlascope.numpy", Path(xlascope.numpy.__file__).with_suffix(".pyi"))["arange"]
    Home(module='xlascope.numpy.ranges', name='arange')
    """
    return dict(_homes(package.split("."), stub))


def _homes(package: list[str], stub: Path) -> Iterator[tuple[str, Home]]:
    text = stub.read_text(encoding="utf-8")
    for dots, path, there, name, everything in _IMPORT.findall(text):
        module = [*package[: len(package) + 1 - len(dots)], *filter(None, path.split("."))]
        if everything:
            yield from _declared(module, stub.parent / f"{path}.pyi", package)
        elif path:
            yield name, Home(".".join(module), there)
        else:
            yield name, Home(".".join([*module, there]), "")


def _declared(module: list[str], stub: Path, package: list[str]) -> Iterator[tuple[str, Home]]:
    yield from _homes(package, stub)
    for name in _DECLARED.findall(stub.read_text(encoding="utf-8")):
        yield name, Home(".".join(module), name)


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` for the package of that name, to be set in its ``__init__.py``.

    A name that was found once is an attribute like others.
    """
    found = sys.modules[package]
    homes = homes_of(package, Path(str(found.__file__)).with_suffix(".pyi"))

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":  # it asks before it imports a module of that name
                raise AttributeError(name)
            own = (each for each, value in vars(found).items() if not isinstance(value, ModuleType))
            raise _error_of(package, name, [*own, *homes])  # no rooms of ours that happen to be loaded
        module = importlib.import_module(home.module)
        value = getattr(module, home.name) if home.name else module
        setattr(found, name, value)
        return value

    return get, lambda: sorted({*vars(found), *homes}), list(homes)


# Names that are not there --------------------------------------------------------------------------------------------


def explain_missing(module: str) -> None:
    """Let a module say of a name that it does not have whether jax has it, or what was meant."""
    found = sys.modules[module]

    def get(name: str) -> Any:
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise AttributeError(name)
        raise _error_of(module, name, vars(found))

    found.__getattr__ = get  # type: ignore[method-assign]


def _error_of(module: str, name: str, known: Iterable[str]) -> Exception:
    """The error for a name that was not found; to be called by a module's ``__getattr__``."""
    if name.startswith("_"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    error: Exception = importlib.import_module("xlascope.missing").error_of(module, name, known, sys._getframe(2))
    return error


class _LastFinder:
    """Explains a module that no finder found to who imports it. Who only asks whether it is there gets his "no"."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """None: nothing is found here."""
        package, _, last = name.rpartition(".")
        if package.partition(".")[0] != "xlascope" or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        what = importlib.import_module("xlascope.missing").explanation(package, last, dir(sys.modules[package]))
        raise ModuleNotFoundError(f"No module named {name!r}{what}", name=name)


if not any(type(finder).__name__ == _LastFinder.__name__ for finder in sys.meta_path):
    sys.meta_path.append(_LastFinder())
