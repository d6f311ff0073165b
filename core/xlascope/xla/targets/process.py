"""Compiling for a target in a process of its own.

The compilers of TPUs and GPUs come as plugins that print, read the environment when they are loaded, may abort on a
program that they do not understand, and cannot be interrupted. In a process of their own (0.2 s to start) all of that
is harmless: an abort is an error message, cancelling is killing, memory has a limit, and a TPU or GPU that is really
here is left alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from ...records import MemoryUse
from ..system.own_files import ForeignFileError
from .installing import HOW, compiler_of
from .known import Target, find_target, known_targets

_WORKER = Path(__file__).with_name("worker.py")
#: Seconds until a compilation is given up, and the bytes that it may take (half of what the machine has, if less).
LIMIT = 600.0
_MEMORY = 16 * 2**30
_TAIL = 8000
#: How lines of a plugin's stack trace begin: they tell a user nothing.
_STACK = ("https://symbolize", "***", "PC:", "@ ", "r/?trace", "E0000", "RAW: ")
#: The process may be gone when it is written to: what it has to say is in how it ended.
_IF_GONE = suppress(BrokenPipeError, ConnectionResetError)


#: Factorizations on a GPU are calls of cuSOLVER and its kin, through handlers that only a machine with CUDA can load.
_NO_HANDLER = (
    "; it calls a library of CUDA (a factorization of a matrix does), which is not here: leave that out of what you "
    "ask about, or ask for a TPU"
)


class MissingTargetError(RuntimeError):
    """The compiler for a target is not installed; the message says how to install it."""


class TargetCompileError(RuntimeError):
    """A target's compiler refused a program, or came to grief; the message has the compiler's words."""


class TargetTimeoutError(TargetCompileError, TimeoutError):
    """A target's compiler took longer than it was given."""


class Stopped(Exception):  # noqa: N818  what somebody asked for is no error
    """The compilation was ended by whoever :attr:`Watch.started` handed the means to."""


class Watch(NamedTuple):
    """Who wants to know: ``tell(message)`` at each step, ``started(stop)`` with what ends the compilation at once."""

    tell: Callable[[str], object]
    started: Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class Built:
    """What a target's compiler made of a program: optimized HLO, and what it says of it.

    ``cost`` is the compiler's own estimate (empty where it has none), ``analysis`` XLA's count of operations and bytes
    in the optimized HLO; ``seconds`` is what the compilation took, the process's start included. ``plan`` is the
    assignment of buffers and ``proto`` the module that it is about, as XLA serializes them; empty where it has none.
    """

    module: str
    hlo: str
    cost: dict[str, float]
    analysis: dict[str, float]
    memory: MemoryUse | None
    seconds: float
    plan: bytes = b""
    proto: bytes = b""


def build(
    target: Target,
    module: bytes,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    dump: Path | None = None,
    environment: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    seconds: float = LIMIT,
    log: Path | None = None,
    callbacks: int = 0,
    plan: bool = False,
) -> Built:
    """Compile StableHLO (bytecode or text) for a target.

    ``overrides`` are XLA's flags for this program, ``dump`` is a folder that XLA writes its dumps to (what is there
    stays there when the compilation is stopped), ``environment`` is added to that of the process, ``log`` is a file for
    what the compiler prints, ``callbacks`` is how many Python functions the program calls, and with ``plan`` the
    assignment of buffers is told. Raises :class:`MissingTargetError`, :class:`TargetCompileError`, after ``seconds``
    :class:`TargetTimeoutError`, and :class:`Stopped`.
    """
    request = {
        "platform": target.platform,
        "name": target.name.partition(":")[2],
        "description": target.description,
        "plugin": "" if target.platform == "cpu" else str(plugin_of(target)),
        "callbacks": callbacks,
        "overrides": [*_own_overrides(target, dump), *map(list, overrides)],
        "memory": _memory_limit(),
        "plan": plan,
        "module": len(module),
    }
    began = time.perf_counter()
    with _Process(_environment(target, environment), seconds, log) as process:
        if watch is not None:
            watch.started(process.stop)
        answer, parts = process.ask(json.dumps(request).encode() + b"\n" + module, watch)
    if answer is None:
        raise process.complaint(target)
    if "error" in answer:
        more = _NO_HANDLER if "No FFI handler registered" in answer["error"] else ""
        raise TargetCompileError(f"the compiler for {target.name} refuses the program: {answer['error']}{more}")
    memory = answer["memory"]
    hlo, assignment, proto = parts
    return Built(
        module=answer["name"],
        hlo=hlo.decode(),
        cost=answer["cost"] or {},
        analysis=answer["analysis"] or {},
        memory=None if memory is None else MemoryUse(**memory),
        seconds=time.perf_counter() - began,
        plan=assignment,
        proto=proto,
    )


def plugin_of(target: Target) -> Path:
    """The library with a target's compiler; raises :class:`MissingTargetError` when it is not installed.

    The packages are looked for, not imported.
    """
    try:
        found = compiler_of("gpu" if target.platform == "cuda" else target.platform)
    except ForeignFileError as error:
        raise MissingTargetError(f"the compiler for {target.name} is not loaded: {error}") from None
    if found is not None:
        return found.library
    if not sys.platform.startswith("linux"):
        raise MissingTargetError(f"the compiler for {target.name} exists for Linux only, and this is {sys.platform}")
    raise MissingTargetError(f"the compiler for {target.name} is not installed; install it with: {HOW}")


def missing_targets() -> dict[str, str]:
    """The targets whose compilers are not here, and for each how to get it.

    >>> "cpu" in missing_targets()
    False
    """
    missing: dict[str, str] = {}
    known: dict[str, bool] = {}
    for name in known_targets():
        target = find_target(name)
        if target.platform not in known:
            known[target.platform] = target.platform == "cpu" or _is_here(target)
        if not known[target.platform]:
            missing[name] = HOW if sys.platform.startswith("linux") else "its compiler exists for Linux only"
    return missing


def _is_here(target: Target) -> bool:
    try:
        plugin_of(target)
    except MissingTargetError:
        return False
    return True


#: Without the first a TPU's compiler asks the network what machine it is on; the others keep it from locks and logs.
_TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_LOG_DIR": "disabled",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


def _environment(target: Target, more: Mapping[str, str] | None) -> dict[str, str]:
    """The process's environment: the user's, without what describes devices that are here."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TPU_", "PYTHONSTARTUP"))}
    own |= {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    if target.platform == "tpu":
        own |= _TPU_ENVIRONMENT
    return own | dict(more or {})


def _own_overrides(target: Target, dump: Path | None) -> list[list[Any]]:
    # Without a device there is nothing to measure: XLA would stop where it tunes its matrix products.
    own: list[list[Any]] = [["xla_gpu_autotune_level", "0"]] if target.platform == "cuda" else []
    return [*own, ["xla_dump_to", str(dump)]] if dump is not None else own


def _memory_limit() -> int:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return _MEMORY
    return min(_MEMORY, total // 2)


class _Process:
    """The worker while it lives: asked once, killed at the end of the block at the latest."""

    def __init__(self, environment: dict[str, str], seconds: float, log: Path | None = None) -> None:
        self._seconds = seconds
        self._stopped = self._late = False
        # Closed in __exit__.
        self._errors: IO[bytes] = tempfile.TemporaryFile() if log is None else log.open("w+b")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # an interrupt of the kernel is not meant for it
        )
        self._tail = b""

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with _IF_GONE:
                    pipe.close()
        self._process.wait()
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL))
        self._tail = self._errors.read()
        self._errors.close()

    def stop(self) -> None:
        """End it now, from any thread."""
        self._stopped = True
        self._process.kill()

    def ask(self, request: bytes, watch: Watch | None) -> tuple[dict[str, Any] | None, list[bytes]]:
        """The answer to the request: its facts, and its parts as bytes; (None, []) when the process ended without."""
        limit = threading.Timer(self._seconds, self._end_late)
        limit.daemon = True
        limit.start()
        try:
            return self._answer(request, watch)
        finally:
            limit.cancel()
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()

    def _answer(self, request: bytes, watch: Watch | None) -> tuple[dict[str, Any] | None, list[bytes]]:
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None and answers is not None
        with _IF_GONE:
            given.write(request)
            given.flush()
        for line in answers:
            told = json.loads(line)
            if "stage" not in told:
                sizes = told.get("sizes", [])
                parts = [answers.read(size) for size in sizes]
                return (told, parts) if [len(part) for part in parts] == sizes else (None, [])
            if watch is not None:
                watch.tell(told["stage"])
        return None, []

    def _end_late(self) -> None:
        self._late = True
        self._process.kill()

    def complaint(self, target: Target) -> Exception:
        """Why there is no answer."""
        if self._stopped:
            return Stopped(f"compiling for {target.name} was stopped")
        if self._late:
            took = f"took longer than {self._seconds:g} s"
            return TargetTimeoutError(f"compiling for {target.name} {took}, and was stopped")
        code = self._process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        said = [line.strip() for line in self._tail.decode(errors="replace").splitlines()]
        telling = [line for line in said if line and not line.startswith(_STACK)]
        words = f"; its last words: {telling[-1]}" if telling else ""
        return TargetCompileError(
            f"the compiler for {target.name} {how} (it may take {_memory_limit() / 1e9:.3g} GB){words}"
        )
