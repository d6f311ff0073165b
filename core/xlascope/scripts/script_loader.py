"""Execution of a script in this process as Python itself runs one: the same names, arguments, paths and errors."""

from __future__ import annotations

import builtins
import io
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourcelessFileLoader
from importlib.util import find_spec
from types import CodeType, ModuleType, TracebackType
from typing import Any

#: This file, whose frames are between the interpreter and the script.
_THIS_FILE = __file__


class NoScriptError(Exception):
    """Error for a script that cannot be found; ``status`` is Python's exit status in that case."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Script:
    """Script to run: ``name`` for display, ``argv`` as the script sees it, ``folder`` of its files.

    ``path`` becomes the first entry of ``sys.path`` (None: unchanged). ``load(main)`` sets up the module ``__main__``
    and returns its code; it is called once ``sys.path`` is the script's.
    """

    name: str
    argv: list[str]
    folder: str
    path: str | None
    load: Callable[[ModuleType], CodeType]

    def run(self) -> None:
        """Run the script to its end; exceptions propagate unchanged."""
        sys.argv[:] = self.argv
        # With -P or PYTHONSAFEPATH, Python does not prepend the script's folder.
        if self.path is not None and not sys.flags.safe_path:
            sys.path[0] = self.path
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = main
        exec(self.load(main), main.__dict__)


def script_from_file(path: str, arguments: Sequence[str]) -> Script:
    """Return the script that ``python path …`` runs: a file, or a folder or zip file with a ``__main__.py``."""
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        absolute = os.path.abspath(path)
        return Script(
            os.path.basename(absolute), [path, *arguments], absolute, absolute, _make_archive_loader(absolute)
        )
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        message = f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}"
        raise NoScriptError(message, 2) from None
    folder = os.path.dirname(os.path.realpath(path))
    return Script(
        os.path.basename(path), [path, *arguments], folder, folder, _make_file_loader(os.path.abspath(path), source)
    )


def script_from_module(name: str, arguments: Sequence[str]) -> Script:
    """Return the script that ``python -m name …`` runs."""
    current = os.getcwd()
    return Script(name, ["-m", *arguments], current, current, lambda main: _load_module(main, name))


def script_from_code(text: str, arguments: Sequence[str]) -> Script:
    """Return the script that ``python -c text …`` runs."""

    def load(main: ModuleType) -> CodeType:
        main.__spec__ = None
        return _compile_source(text.encode(), "<string>")

    return Script("-c", ["-c", *arguments], os.getcwd(), "", load)


def _make_file_loader(path: str, source: bytes) -> Callable[[ModuleType], CodeType]:
    def load(main: ModuleType) -> CodeType:
        main.__spec__ = None
        main.__dict__.update(__file__=path, __cached__=None)
        if path.endswith(".pyc"):
            loaded = SourcelessFileLoader("__main__", path).get_code("__main__")
            assert loaded is not None
            return loaded
        return _compile_source(source, path)

    return load


def _compile_source(source: bytes, path: str) -> CodeType:
    return compile(source, path, "exec", dont_inherit=True)


def _make_archive_loader(path: str) -> Callable[[ModuleType], CodeType]:
    def load(main: ModuleType) -> CodeType:
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise NoScriptError(f"can't find '__main__' module in {path!r}", 1)
        return _load_from_spec(main, spec)

    return load


def _load_module(main: ModuleType, name: str) -> CodeType:
    """Set up ``__main__`` as ``python -m name`` does and return its code; raise NoScriptError without such a module."""
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = find_spec(name)
            if spec is None:
                message = f"No module named {name}; {package!r} is a package and cannot be directly executed"
                raise NoScriptError(message, 1)
    except (ImportError, ValueError, AttributeError, TypeError) as error:
        if not _is_lookup_error(error):
            raise
        raise NoScriptError(f"Error while finding module specification for {name!r} ({error})", 1) from None
    if spec is None:
        raise NoScriptError(f"No module named {name}", 1)
    code = _load_from_spec(main, spec)
    sys.argv[0] = str(spec.origin)
    return code


def _is_lookup_error(error: BaseException) -> bool:
    """Return whether an error is about the module that was looked up, not about a package imported on the way."""
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file != _THIS_FILE and not file.startswith("<frozen"):
            return False
        traceback = traceback.tb_next
    return True


def _load_from_spec(main: ModuleType, spec: ModuleSpec) -> CodeType:
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if loader is not None else None
    if code is None:
        raise NoScriptError(f"No code object available for {spec.name}", 1)
    main.__spec__, main.__loader__, main.__package__ = spec, loader, spec.parent
    main.__dict__.update(__file__=spec.origin, __cached__=spec.cached)
    return code  # type: ignore[no-any-return]


def strip_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback below the watcher's frames: what the script alone would have."""
    while traceback is not None and traceback.tb_frame.f_code is not Script.run.__code__:
        traceback = traceback.tb_next
    while traceback is not None and traceback.tb_frame.f_code.co_filename == _THIS_FILE:  # of a script that has no code
        traceback = traceback.tb_next
    return traceback


def hide_own_frames() -> None:
    """Replace the exception hook by one that hides the watcher's frames."""
    original_hook = sys.excepthook

    def show_exception(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        shown = strip_own_frames(traceback)
        error.__traceback__ = shown
        original_hook(kind, error, shown)

    sys.excepthook = show_exception
