"""The two files of a run: its records as JSON, written here, and the page, drawn from them by a separate process.

Drawing imports much and takes a second or two, which would delay the script.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..records.store import document, write_whole

#: How long drawing a page may take.
DRAW_TIMEOUT_SECONDS = 120.0
_SUFFIXES = (".html", ".json")
#: The suffix of file names that the user has not chosen.
_DEFAULT_SUFFIX = ".xlascope"


@dataclass
class OutputFiles:
    """Absolute output paths of a run, ``json`` and ``html``, and the process that draws the page (None: no process)."""

    json: Path
    html: Path
    drawing: subprocess.Popen[bytes] | None = None
    #: Why there is no page; empty if there is one.
    error: str = ""
    #: Whether the files' folder is created: it was given as a folder, with a slash at its end.
    makes_folder: bool = False

    @classmethod
    def from_name(cls, output: str | os.PathLike[str] | None, script: str, rank: tuple[int, int] | None) -> OutputFiles:
        """Return the files for a name given by the user, with or without suffix, or derived from the script's name.

        ``output`` is None if the user gave none; in a folder, the name is derived. ``rank`` is the process's number in
        a job and their number (None if it runs alone); the number becomes a part of the names.
        """
        default = f"{Path(script).stem}{_DEFAULT_SUFFIX}"
        name = str(Path.cwd() / (os.fspath(output) if output is not None else default))
        if output is not None and (os.fspath(output).endswith(os.sep) or os.path.isdir(name)):
            name = os.path.join(name, default)
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        is_folder = output is not None and os.fspath(output).endswith(os.sep)
        files = cls(Path(f"{name}.json"), Path(f"{name}.html"), makes_folder=is_folder)
        if rank is not None:
            files.add_rank(rank[0])
        return files

    def add_rank(self, number: int) -> None:
        """Add the number of the process in its job to the names of the files; nothing was written before."""
        self.json, self.html = (path.with_suffix(f".{number}{path.suffix}") for path in (self.json, self.html))

    def check_writable(self) -> None:
        """Raise OSError if the files cannot be written, before a long run rather than after it."""
        for path in (self.json, self.html):
            folder = path.parent
            if self.makes_folder:
                folder.mkdir(exist_ok=True)
            if not folder.is_dir():
                raise FileNotFoundError(f"cannot write {path}: there is no folder {folder}")
            if path.is_dir():
                raise IsADirectoryError(f"cannot write {path}: it is a folder")
            if not os.access(folder, os.W_OK):
                raise PermissionError(f"cannot write {path}: permission denied")

    def write(self, texts: list[str]) -> None:
        """Write records to the JSON file atomically; ``texts`` are their JSON texts."""
        write_whole(document(texts), self.json)

    def draw(self, *, wait: bool) -> None:
        """Start the process that draws the page, and ``wait`` for it or return immediately.

        Without ``wait`` nothing happens while an earlier drawing is in progress; with it, that one is stopped.
        """
        if not wait and self.drawing is not None and self.drawing.poll() is None:
            return
        self.cancel_drawing()
        command = [sys.executable, "-P", "-m", "xlascope", "show", str(self.json), "--output", str(self.html)]
        # In a separate session, so that Ctrl-C only interrupts the script.
        self.drawing = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.json.parent,
            start_new_session=True,
        )
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait for the page that is being drawn, if any; ``error`` says why there is none."""
        if self.drawing is None:
            return
        try:
            _, stderr = self.drawing.communicate(timeout=DRAW_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.cancel_drawing()
            self.error = f"drawing it took more than {DRAW_TIMEOUT_SECONDS:g} s"
            return
        lines = stderr.decode(errors="replace").strip().splitlines()
        if self.drawing.returncode:
            self.error = lines[-1] if lines else f"what draws it ended with status {self.drawing.returncode}"
        self.drawing = None

    def cancel_drawing(self) -> None:
        """Stop the drawing in progress, if any."""
        if self.drawing is not None and self.drawing.poll() is None:
            self.drawing.kill()
            self.drawing.communicate()
        self.drawing = None
