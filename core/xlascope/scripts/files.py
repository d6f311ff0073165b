"""The two files of a run: its records as JSON, written here, and the page, which a process of its own draws of them.

Drawing loads much and takes a second or two, which is not the script's to spend.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..records.store import document, write_whole

#: Seconds that a page may take.
LIMIT = 120.0
_SUFFIXES = (".html", ".json")
#: What ends the names of files that nobody has named.
_OURS = ".xlascope"


@dataclass
class Files:
    """Where a run is written: ``json`` and ``html``, absolute; whatever becomes of the current folder."""

    json: Path
    html: Path
    drawing: subprocess.Popen[bytes] | None = None
    #: Why there is no page.
    complaint: str = ""

    @classmethod
    def named(cls, output: str | os.PathLike[str] | None, script: str, rank: tuple[int, int] | None) -> Files:
        """The files of a name that a user gave, with or without a suffix of one of them, or made of the script's."""
        name = str(Path.cwd() / (os.fspath(output) if output is not None else f"{Path(script).stem}{_OURS}"))
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        if rank is not None:
            name += f".{rank[0]}"
        return cls(Path(f"{name}.json"), Path(f"{name}.html"))

    def check(self) -> None:
        """Raise OSError where nothing could be written: better before a long run than after it."""
        for path in (self.json, self.html):
            folder = path.parent
            if not folder.is_dir():
                raise FileNotFoundError(f"cannot write {path}: there is no folder {folder}")
            if path.is_dir():
                raise IsADirectoryError(f"cannot write {path}: it is a folder")
            if not os.access(folder, os.W_OK):
                raise PermissionError(f"cannot write {path}: permission denied")

    def write(self, texts: list[str]) -> None:
        """Write the records, whole or not at all."""
        write_whole(document(texts), self.json)

    def draw(self, *, wait: bool) -> None:
        """Have the page drawn; without ``wait`` it appears when it is ready, unless one is being drawn already."""
        if not wait and self.drawing is not None and self.drawing.poll() is None:
            return
        self.give_up()
        words = [sys.executable, "-P", "-m", "xlascope", "show", str(self.json), "--output", str(self.html)]
        # In a session of its own: Ctrl-C is for the script.
        self.drawing = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.json.parent,
            start_new_session=True,
        )
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait for the page that is being drawn, if there is one."""
        if self.drawing is None:
            return
        try:
            _, said = self.drawing.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.give_up()
            self.complaint = f"drawing it took more than {LIMIT:g} s"
            return
        lines = said.decode(errors="replace").strip().splitlines()
        if self.drawing.returncode:
            self.complaint = lines[-1] if lines else f"what draws it ended with status {self.drawing.returncode}"
        self.drawing = None

    def give_up(self) -> None:
        """End the drawing that goes on, if there is one."""
        if self.drawing is not None and self.drawing.poll() is None:
            self.drawing.kill()
            self.drawing.communicate()
        self.drawing = None
