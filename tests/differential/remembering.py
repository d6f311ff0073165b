"""jax's answers kept on disk: what a version of it said to a call it will say again."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests import compiling

from . import answers, building, programs, sparse_arrays
from . import library as library_
from .processes import ROOT, Pair, Worker

FOLDER = ROOT / "build" / "judge"


class RememberedWorker(Worker):
    """A worker that is asked only what it was never asked before."""

    def __init__(self, library: str, folder: Path = FOLDER, xla_flags: str = "") -> None:
        super().__init__(library, xla_flags=xla_flags)
        folder.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(folder / f"{library}.sqlite", check_same_thread=False, timeout=60)
        self._kept.execute("create table if not exists answers (call text primary key, answer text) without rowid")
        self._about = f"{_about(library)} {xla_flags}".rstrip()

    def ask(self, calls: Sequence[Any], what: str = "perform") -> list[dict[str, Any]]:
        names = [self._name(call, what) for call in calls]
        known = {name: kept for name in names if (kept := self._find(name)) is not None}
        new = {name: call for name, call in zip(names, calls, strict=True) if name not in known}
        for name, answer in zip(new, super().ask(list(new.values()), what), strict=True):
            known[name] = answer
            if "ended" not in answer:
                self._kept.execute("insert or replace into answers values (?, ?)", (name, json.dumps(answer)))
        self._kept.commit()
        return [known[name] for name in names]

    def _find(self, name: str) -> dict[str, Any] | None:
        row = self._kept.execute("select answer from answers where call = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def _name(self, call: Any, what: str) -> str:
        return hashlib.sha256(f"{self._about} {what} {json.dumps(call, sort_keys=True)}".encode()).hexdigest()


def _about(library: str) -> str:
    """What an answer depends on besides the call: the versions, and what builds arguments and writes answers."""
    versions = [importlib.metadata.version(name) for name in (library, "jaxlib", "numpy", "ml_dtypes")]
    modules = (answers, building, library_, programs, sparse_arrays)
    texts = [Path(str(module.__file__)).read_bytes() for module in modules]
    return f"{versions} {hashlib.sha256(b''.join(texts)).hexdigest()}"


@contextlib.contextmanager
def pair(faults: Sequence[str] = (), xla_flags: str = "") -> Iterator[Pair]:
    """Both libraries, for as long as the block lasts; what is compiled with flags for tests is kept."""
    ours = Worker("xlascope", faults, xla_flags=xla_flags, compiled=compiling.KEPT if xla_flags else None)
    both = Pair(ours, RememberedWorker("jax", xla_flags=xla_flags))
    try:
        yield both
    finally:
        both.close()
