"""jax 0.10.2 in an interpreter of its own, running the same programs as we do; what it said is kept in build/oracle.

An answer is kept with the files and folders that were read while it was made and the versions it was made with, and
given again for as long as they are the same. CI begins without any.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import compiling

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "oracle"
#: What an answer is made with.
PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")

_RUN = """
import importlib.util, os, pickle, sys
read = set()
def note(event, arguments):
    name = arguments[0] if arguments else None
    if isinstance(name, str) and (event == "os.scandir" or event == "open" and name.endswith((".py", ".pyc"))):
        read.add(os.path.abspath(name))
import jax
import jax.flatten_util, jax.image
import jax.numpy, jax.random, jax.nn, jax.ad_checkpoint, jax.custom_batching, jax.custom_derivatives
sys.addaudithook(note)
spec = importlib.util.spec_from_file_location("programs", sys.argv[1])
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
result = getattr(programs, sys.argv[2])(jax)
sources = {importlib.util.source_from_cache(each) if each.endswith(".pyc") else each for each in read}
sys.stdout.buffer.write(pickle.dumps((result, sorted(sources))))
"""


def ask(path: Path, function: str, settings: Mapping[str, str]) -> Any:
    """What a function of a file of programs gives with jax as its library, kept or made now."""
    kept = FOLDER / f"{_name(path, function, settings)}.pickle"
    with _one_at_a_time(kept):
        found = _read(kept)
        if found is not None:
            return found[0]
        result, sources = _run(path, function, settings)
        mine = [each for each in map(Path, sources) if each.is_relative_to(ROOT / "tests")]
        _write(kept, (result, _contents(mine)))
        return result


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


def _run(path: Path, function: str, settings: Mapping[str, str]) -> Any:
    environment = {**_environment(), "JAX_PLATFORMS": "cpu", **{f"JAX_{k.upper()}": v for k, v in settings.items()}}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _RUN, str(path), function]
        done = subprocess.run(command, cwd=folder, capture_output=True, env=environment, timeout=1500)
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


def _environment() -> dict[str, str]:
    """The variables that jax is to see: its programs are compiled as ours are."""
    flags = [f"--{name}={str(value).lower()}" for name, value in compiling.flags().items()]
    return {**os.environ, "XLA_FLAGS": " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()}


def _name(path: Path, function: str, settings: Mapping[str, str]) -> str:
    around = {name: value for name, value in _environment().items() if name.startswith(("JAX_", "XLA_"))}
    question = [str(path.relative_to(ROOT)), function, sorted(settings.items()), sorted(around.items())]
    with_what = [platform.python_version(), platform.machine(), *map(importlib.metadata.version, PACKAGES), _RUN]
    return hashlib.sha256(json.dumps([question, with_what]).encode()).hexdigest()


def _read(kept: Path) -> Any:
    """The answer in a file with what it was made from; None if there is none, or what it was made from has changed."""
    try:
        answer, contents = pickle.loads(kept.read_bytes())  # written by a run of these tests into their own folder
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return (answer,) if contents == _contents([ROOT / each for each in contents]) else None


def _write(kept: Path, content: Any) -> None:
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(pickle.dumps(content))
    os.replace(file.name, kept)


def _contents(files: list[Path]) -> dict[str, str]:
    """The digest of each file, and of the names in each folder, by its place in the repository."""
    return {str(each.relative_to(ROOT)): _digest(each) for each in files}


def _digest(file: Path) -> str:
    if file.is_dir():
        content = "/".join(sorted(each.name for each in file.glob("*.py"))).encode()
    else:
        content = file.read_bytes() if file.exists() else b"gone"
    return hashlib.sha256(content).hexdigest()
