"""Porting of single files: read, rewrite, write."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...records.store import write_whole
from .libraries import find_libraries
from .names import MissingName, find_missing
from .notebook import Notebook
from .rewriting import RewriteResult, rewrite
from .spelling import Direction
from .syntax import CannotParseError

_NOTEBOOK = ".ipynb"
_SUFFIXES = frozenset({".py", ".pyi", _NOTEBOOK})
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})
_VIRTUAL_ENVIRONMENT = "pyvenv.cfg"


@dataclass
class PortedFile:
    """Result of porting a file, which is not written yet.

    ``old`` and ``new`` are its content, ``missing`` the names that the target package lacks, and ``libraries`` the
    lines that import libraries of jax, because of which the file may be ``left_alone``. ``unparsed`` is set if it is
    not valid Python.
    """

    path: Path
    old: bytes = b""
    new: bytes = b""
    changes: int = 0
    missing: list[MissingName] = field(default_factory=list)
    libraries: dict[str, list[int]] = field(default_factory=dict)
    #: Why the file cannot be read or written.
    error: str = ""
    unparsed: CannotParseError | None = None
    notebook: Notebook | None = None
    left_alone: bool = False

    @property
    def would_change(self) -> bool:
        return self.new != self.old

    @property
    def has_work_left(self) -> bool:
        return bool(self.missing or self.libraries or self.unparsed is not None or self.error)

    def describe_line(self, line: int) -> str:
        """Return the location of a line of code within the file: in a notebook ``cell 3, line 2``."""
        return self.notebook.locate(line) if self.notebook is not None else f"line {line}"

    def location(self, line: int) -> str:
        """Return the file with a line of its code, as ``file:line`` where editors can open it."""
        return f"{self.path}: {self.describe_line(line)}" if self.notebook is not None else f"{self.path}:{line}"

    @property
    def text_before(self) -> str:
        return _decode(self.old)[0]

    @property
    def text_after(self) -> str:
        return _decode(self.new)[0]


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files among ``paths``, and the Python files and notebooks in the folders among them, each once.

    Folders whose names begin with a dot, virtual environments and installed packages are left out.
    """
    visited: set[Path] = set()
    for path in paths:
        for file in _files_in(path) if path.is_dir() else [path]:
            if (real := file.resolve()) not in visited:
                visited.add(real)
                yield file


def _files_in(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(parent, name)))
        yield from (Path(parent, name) for name in sorted(names) if Path(name).suffix in _SUFFIXES)


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED_FOLDERS or (folder / _VIRTUAL_ENVIRONMENT).exists()


def port_file(path: Path, direction: Direction, *, anyway: bool = False) -> PortedFile:
    """Return the result of porting a file, without writing it.

    ``anyway`` also ports a file that imports a library of jax.
    """
    ported = PortedFile(path)
    try:
        ported.old = ported.new = path.read_bytes()
        text, encoding = _decode(ported.old)
        rewritten, new = _port_text(ported, text, direction)
    except CannotParseError as error:
        ported.unparsed = error
        return ported
    except OSError as error:
        ported.error = error.strerror or str(error)
        return ported
    except (ValueError, SyntaxError, RecursionError) as error:  # an invalid encoding or invalid JSON
        ported.unparsed = CannotParseError(1, str(error))
        return ported
    if not rewritten.changes and not rewritten.uses:
        return ported
    ported.missing = find_missing(rewritten.uses, direction)
    if direction.target != "jax":
        ported.libraries = find_libraries(
            (module, line)
            for module, line in rewritten.imported_modules
            if not _is_local(module.partition(".")[0], path)
        )
    ported.left_alone = bool(ported.libraries) and not anyway
    if not ported.left_alone:
        ported.new, ported.changes = new.encode(encoding), rewritten.changes
    return ported


def _is_local(package: str, path: Path) -> bool:
    """Return whether a package is in the folder of a file or above it, and so part of the user's own code."""
    folders = (folder for parent in path.resolve().parents for folder in (parent, parent / "src"))
    return any((folder / package / "__init__.py").exists() for folder in folders)


def _port_text(ported: PortedFile, text: str, direction: Direction) -> tuple[RewriteResult, str]:
    if ported.path.suffix != _NOTEBOOK:
        rewritten = rewrite(text, direction)
        return rewritten, rewritten.text
    ported.notebook = notebook = Notebook(text)
    rewritten = rewrite(notebook.code, direction)
    return rewritten, notebook.replace(rewritten.text)


def _decode(data: bytes) -> tuple[str, str]:
    """Return the text of a source file, with its line ends unchanged, and its encoding."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding), encoding


def write_file(ported: PortedFile) -> None:
    """Write a changed file atomically, with its permissions; an error is stored in ``ported.error``."""
    try:
        mode = ported.path.stat().st_mode
        write_whole(ported.new, ported.path)
        os.chmod(ported.path, mode)
    except OSError as error:
        ported.error = error.strerror or str(error)
