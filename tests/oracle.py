"""The jax of this environment in interpreters of its own, running our programs; what it said is kept in build/oracle,
and in the repository (`kept_answers.py`).

It is the one that belongs to the jaxlib here: what it changed since the oldest stands in `changes_of_jax.py`.

An answer is kept with the files and folders that were read while it was made and the versions it was made with, and
given again for as long as they are the same. CI begins with those of the repository alone.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import json
import os
import pickle
import platform
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import compiling, kept_answers

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "oracle"
#: What an answer is made with.
PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")
JAX = PACKAGES[:2]
#: What is done with the repository's answers: they are given (nothing), kept for questions that are new (`keep`), or
#: left alone (`leave`).
HOW = os.environ.get("XLASCOPE_TESTS_ANSWERS", "")
#: The names of the repository's answers that were asked for while new ones were kept.
ASKED = FOLDER / "asked"

#: An answer, and the digests of the files that it was made from.
Found = tuple[Any, dict[str, str]]

#: The program that answers.
_ANSWERING = Path(__file__).with_name("oracle_server.py")
#: Seconds until an answer no longer comes.
_PATIENCE = 1500


def ask(path: Path, function: str, settings: Mapping[str, str]) -> Any:
    """What a function of a file of programs gives with jax as its library, kept or made now."""
    kept = FOLDER / f"{_name(path, function, settings)}.pickle"
    with _one_at_a_time(kept):
        found = None if HOW == "leave" else _read_repository(path, function, settings)
        found = found or _read(kept) or _asked_now(kept, path, function, settings)
        if HOW == "keep":
            _keep(path, function, settings, *found)
        return found[0]


def _asked_now(kept: Path, path: Path, function: str, settings: Mapping[str, str]) -> Found:
    result, sources = asked(path, function, settings, _flags())
    mine = [each for each in map(Path, sources) if each.is_relative_to(ROOT / "tests")]
    found = result, _contents(mine)
    _write(kept, found)
    return found


@contextlib.contextmanager
def _one_at_a_time(kept: Path) -> Iterator[None]:
    """Let the processes that run tests side by side wait for the one that asks already."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def rows(names: Iterable[str], known: Mapping[str, str]) -> list[Any]:
    """Parameters of a test: those that are known to differ from jax have to, and say why."""
    names = list(names)
    assert set(known) <= set(names), "a row that is known to differ is gone"
    marks = {name: [pytest.mark.xfail(reason=known[name], strict=True)] for name in known}
    return [pytest.param(name, marks=marks.get(name, []), id=name) for name in names]


def asked(path: Path, function: str, settings: Mapping[str, str], flags: str) -> tuple[Any, list[str]]:
    """What jax answers now, compiled with some of XLA's flags, and the files that were read meanwhile."""
    server = _server(tuple(sorted(_variables(settings).items())))
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "answer"
        status = server.ask(folder, flags, str(ROOT / path), function, str(into))
        assert status == "0", f"{function} of {path} ended with {status}:\n{into.read_text() if into.exists() else ''}"
        answer: tuple[Any, list[str]] = pickle.loads(into.read_bytes())
    return answer


class _Server:
    """jax, imported in a process that answers one question after the other."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_ANSWERING)],  # -P: nothing is imported from the folder of tests
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

        atexit.register(self._process.communicate)  # it ends when nothing more can be asked

    def ask(self, *question: str) -> str:
        """How the child that answered ended; nothing if the server did."""
        print(json.dumps(question), file=self._process.stdin, flush=True)
        if not select.select([self._process.stdout], [], [], _PATIENCE)[0]:
            self._process.kill()
        return str(self._process.stdout.readline()).strip()


@functools.cache
def _server(variables: tuple[tuple[str, str], ...]) -> _Server:
    return _Server(dict(variables))


def _variables(settings: Mapping[str, str]) -> dict[str, str]:
    """What jax is told when it is imported."""
    return {"JAX_PLATFORMS": "cpu", **{f"JAX_{name.upper()}": value for name, value in settings.items()}}


def _flags() -> str:
    """What XLA is told: jax's programs are compiled as ours are."""
    return f"{os.environ.get('XLA_FLAGS', '')} {compiling.xla_flags_now()}".strip()


def _name(path: Path, function: str, settings: Mapping[str, str]) -> str:
    around = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
    question = [str(path.relative_to(ROOT)), function, sorted({**around, **_variables(settings)}.items()), _flags()]
    versions = [*map(importlib.metadata.version, PACKAGES), platform.python_version(), platform.machine()]
    return hashlib.sha256(json.dumps([question, versions, _digest(_ANSWERING)]).encode()).hexdigest()


def _read_repository(path: Path, function: str, settings: Mapping[str, str]) -> Found | None:
    """The repository's answer with what it was made from; None if there is none, or that has changed."""
    said = kept_answers.read(_place(path, function, settings))
    if said is None or said["instructions"] != instructions() or not is_current(said["sources"]):
        return None
    return said["answer"], said["sources"]


def _keep(path: Path, function: str, settings: Mapping[str, str], answer: Any, sources: dict[str, str]) -> None:
    """Put an answer into the repository, unless it is there."""
    place = _place(path, function, settings)
    with ASKED.open("a", encoding="utf-8") as file:
        file.write(f"{place.name}\n")
    if _read_repository(path, function, settings) is None:
        question = _question(path, function, settings)
        said = {**question, "versions": versions(), "instructions": instructions(), "sources": sources}
        with contextlib.suppress(kept_answers.UnknownKindError):  # it is asked for in each first run
            kept_answers.write(place, answer, **said)


def _place(path: Path, function: str, settings: Mapping[str, str]) -> Path:
    """The file of the repository's answer to a question."""
    question = json.dumps([_question(path, function, settings), versions(), _digest(_ANSWERING)])
    return kept_answers.FOLDER / f"{path.stem}.{function}.{hashlib.sha256(question.encode()).hexdigest()[:12]}.npz"


def _question(path: Path, function: str, settings: Mapping[str, str]) -> dict[str, Any]:
    around = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
    place = path.relative_to(ROOT).as_posix()
    return {"path": place, "function": function, "settings": dict(settings), "around": around, "flags": _flags()}


def versions() -> dict[str, str]:
    """What jax's answers depend on beside the question."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "machine": platform.machine(), **{each: importlib.metadata.version(each) for each in JAX}}


@functools.cache
def instructions() -> list[str]:
    """What the processor can, as far as the last places of numbers may depend on it."""
    about = Path("/proc/cpuinfo")
    words = about.read_text(encoding="utf-8").partition("flags")[2].partition("\n")[0].split() if about.exists() else []
    return sorted(word for word in words if word.startswith(("amx", "avx", "fma"))) or [platform.processor()]


def _read(kept: Path) -> Found | None:
    """The answer in a file with what it was made from; None if there is none, or what it was made from has changed."""
    try:
        answer, contents = pickle.loads(kept.read_bytes())  # written by a run of these tests into their own folder
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return (answer, contents) if is_current(contents) else None


def _write(kept: Path, content: Any) -> None:
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(pickle.dumps(content))
    os.replace(file.name, kept)


def is_current(contents: Mapping[str, str]) -> bool:
    """Whether the files that an answer was made from are what they were."""
    return contents == _contents([ROOT / each for each in contents])


def _contents(files: list[Path]) -> dict[str, str]:
    """The digest of each file, and of the names in each folder, by its place in the repository."""
    return {str(each.relative_to(ROOT)): _digest(each) for each in files}


def _digest(file: Path) -> str:
    if file.is_dir():
        content = "/".join(sorted(each.name for each in file.glob("*.py"))).encode()
    else:
        content = file.read_bytes() if file.exists() else b"gone"
    return hashlib.sha256(content).hexdigest()
