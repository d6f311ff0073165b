"""Compilation for a target in a separate process.

The compilers of TPUs and GPUs come as plugins that print, read the environment when they are loaded, may abort on
a program that they do not understand, and cannot be interrupted. In a separate process (0.2 s to start) all of
that is harmless: an abort is an error message, cancelling is killing, memory has a limit, and a TPU or GPU that is
really here is left alone.
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
#: Limits of a compilation: its time, and its memory (half of the machine's memory, if that is less).
LIMIT = 600.0
_MEMORY = 16 * 2**30
_TAIL = 8000
#: Lines of a plugin's log that begin like this belong to a stack trace and are not shown to users.
_STACK = ("https://symbolize", "***", "PC:", "@ ", "r/?trace", "E0000", "RAW: ")
#: The process may have ended when we write to it: its exit status then says why.
_IF_GONE = suppress(BrokenPipeError, ConnectionResetError)


#: Factorizations on a GPU call cuSOLVER and similar libraries through handlers that only a machine with CUDA can
#: load.
_NO_HANDLER = (
    "; it calls a library of CUDA (a factorization of a matrix does), which is not here: leave that out of what you "
    "ask about, or ask for a TPU"
)


class MissingTargetError(RuntimeError):
    """Error for a target whose compiler is not installed; the message says how to install it."""


class TargetCompileError(RuntimeError):
    """Error for a program that a target's compiler refused or aborted on; the message quotes the compiler."""


class TargetTimeoutError(TargetCompileError, TimeoutError):
    """Error for a compilation that took longer than its time limit."""


class Stopped(Exception):  # noqa: N818  a requested stop is not an error
    """Signal that the compilation was stopped through the function passed to :attr:`Watch.on_start`."""


class Watch(NamedTuple):
    """Callbacks of a compilation: ``report(message)`` at each step, ``on_start(stop)`` with a stop function."""

    tell: Callable[[str], object]
    started: Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class Built:
    """Result of a target's compiler: optimized HLO and statistics.

    ``cost`` is the compiler's own estimate (empty where it has none), ``analysis`` XLA's count of operations and
    bytes in the optimized HLO; ``seconds`` is what the compilation took, the process's start included.
    ``buffer_assignment`` and the ``module_proto`` that it refers to are serialized by XLA; empty where there is none.
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

    ``overrides`` are XLA's flags for this program, ``dump`` is a folder that XLA writes its dumps to (they stay there
    when the compilation is stopped), ``environment`` is added to that of the process, ``log`` is a file for what the
    compiler prints, ``callbacks`` is how many Python functions the program calls, and ``plan`` requests the buffer
    assignment. Raises :class:`MissingTargetError`, :class:`TargetCompileError`, after ``seconds``
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
        hint = _NO_HANDLER if "No FFI handler registered" in answer["error"] else ""
        raise TargetCompileError(f"the compiler for {target.name} refuses the program: {answer['error']}{hint}")
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
    """Return the library with a target's compiler; raises :class:`MissingTargetError` if it is not installed.

    The packages are searched for, not imported.
    """
    try:
        plugin = compiler_of("gpu" if target.platform == "cuda" else target.platform)
    except ForeignFileError as error:
        raise MissingTargetError(f"the compiler for {target.name} is not loaded: {error}") from None
    if plugin is not None:
        return plugin.library
    if not sys.platform.startswith("linux"):
        raise MissingTargetError(f"the compiler for {target.name} exists for Linux only, and this is {sys.platform}")
    raise MissingTargetError(f"the compiler for {target.name} is not installed; install it with: {HOW}")


def missing_targets() -> dict[str, str]:
    """Return the targets whose compilers are not installed, and for each how to install it.

    >>> "cpu" in missing_targets()
    False
    """
    missing: dict[str, str] = {}
    is_installed: dict[str, bool] = {}
    for name in known_targets():
        target = find_target(name)
        if target.platform not in is_installed:
            is_installed[target.platform] = target.platform == "cpu" or _is_here(target)
        if not is_installed[target.platform]:
            missing[name] = HOW if sys.platform.startswith("linux") else "its compiler exists for Linux only"
    return missing


def _is_here(target: Target) -> bool:
    try:
        plugin_of(target)
    except MissingTargetError:
        return False
    return True


#: Without the first variable a TPU's compiler queries the network for its machine; the others avoid locks and logs.
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


def _environment(target: Target, extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return the process's environment: the user's, without variables about devices that are here."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TPU_", "PYTHONSTARTUP"))}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    if target.platform == "tpu":
        environment |= _TPU_ENVIRONMENT
    return environment | dict(extra or {})


def _own_overrides(target: Target, dump: Path | None) -> list[list[Any]]:
    # Without a device XLA cannot time candidates: it would fail where it autotunes matrix products.
    overrides: list[list[Any]] = [["xla_gpu_autotune_level", "0"]] if target.platform == "cuda" else []
    return [*overrides, ["xla_dump_to", str(dump)]] if dump is not None else overrides


def _memory_limit() -> int:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return _MEMORY
    return min(_MEMORY, total // 2)


class _Process:
    """Worker process that is asked once, and killed at the end of the block at the latest."""

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
            start_new_session=True,  # an interrupt of the notebook's kernel must not reach it
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
        """Kill the process now, from any thread."""
        self._stopped = True
        self._process.kill()

    def ask(self, request: bytes, watch: Watch | None) -> tuple[dict[str, Any] | None, list[bytes]]:
        """Return the answer to a request: its facts, and its parts as bytes; (None, []) without an answer."""
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
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        with _IF_GONE:
            requests.write(request)
            requests.flush()
        for line in answers:
            message = json.loads(line)
            if "stage" not in message:
                sizes = message.get("sizes", [])
                parts = [answers.read(size) for size in sizes]
                return (message, parts) if [len(part) for part in parts] == sizes else (None, [])
            if watch is not None:
                watch.tell(message["stage"])
        return None, []

    def _end_late(self) -> None:
        self._late = True
        self._process.kill()

    def complaint(self, target: Target) -> Exception:
        """Return the exception that says why there is no answer."""
        if self._stopped:
            return Stopped(f"compiling for {target.name} was stopped")
        if self._late:
            took = f"took longer than {self._seconds:g} s"
            return TargetTimeoutError(f"compiling for {target.name} {took}, and was stopped")
        code = self._process.returncode
        ending = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        lines = [line.strip() for line in self._tail.decode(errors="replace").splitlines()]
        informative = [line for line in lines if line and not line.startswith(_STACK)]
        suffix = f"; its last words: {informative[-1]}" if informative else ""
        return TargetCompileError(
            f"the compiler for {target.name} {ending} (it may take {_memory_limit() / 1e9:.3g} GB){suffix}"
        )
