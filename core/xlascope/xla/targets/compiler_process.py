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
from ..system.private_files import ForeignFileError
from .compiler_install import INSTALL_COMMAND, find_compiler
from .registry import Target, find_target, known_targets

_WORKER = Path(__file__).with_name("worker.py")
#: Limits of a compilation: its time, and its memory (half of the machine's memory, if that is less).
COMPILE_TIMEOUT_SECONDS = 600.0
_MAX_MEMORY_BYTES = 16 * 2**30
_LOG_TAIL_BYTES = 8000
#: Lines of a plugin's log that begin like this belong to a stack trace and are not shown to users.
_STACK_TRACE_PREFIXES = ("https://symbolize", "***", "PC:", "@ ", "r/?trace", "E0000", "RAW: ")
#: The process may have ended when we write to it: its exit status then says why.
_SUPPRESS_BROKEN_PIPE = suppress(BrokenPipeError, ConnectionResetError)


#: Factorizations on a GPU call cuSOLVER and similar libraries through handlers that only a machine with CUDA can
#: load.
_NO_HANDLER_HINT = (
    "; it calls a library of CUDA (a factorization of a matrix does), which is not here: leave that out of what you "
    "ask about, or ask for a TPU"
)


class MissingTargetError(RuntimeError):
    """Error for a target whose compiler is not installed; the message says how to install it."""


class TargetCompileError(RuntimeError):
    """Error for a program that a target's compiler refused or aborted on; the message quotes the compiler."""


class TargetTimeoutError(TargetCompileError, TimeoutError):
    """Error for a compilation that took longer than its time limit."""


class CompilationStopped(Exception):  # noqa: N818  a requested stop is not an error
    """Signal that the compilation was stopped through the function passed to :attr:`CompileProgress.on_start`."""


class CompileProgress(NamedTuple):
    """Callbacks of a compilation in a separate process.

    ``report(message)`` is called at each step, and ``on_start(stop)`` at the beginning; ``stop()`` ends the
    compilation.
    """

    report: Callable[[str], object]
    on_start: Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class TargetCompilation:
    """Result of a target's compiler: optimized HLO and statistics.

    ``module`` is the module's name. ``cost`` is the compiler's own estimate (empty where it has none), ``analysis``
    XLA's count of operations and bytes in the optimized HLO; ``seconds`` is what the compilation took, the process's
    start included. ``buffer_assignment`` and the ``module_proto`` that it refers to are serialized by XLA; empty where
    there is none.
    """

    module: str
    hlo: str
    cost: dict[str, float]
    analysis: dict[str, float]
    memory: MemoryUse | None
    seconds: float
    buffer_assignment: bytes = b""
    module_proto: bytes = b""


def compile_for_target(
    target: Target,
    module: bytes,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    dump: Path | None = None,
    environment: Mapping[str, str] | None = None,
    watch: CompileProgress | None = None,
    seconds: float = COMPILE_TIMEOUT_SECONDS,
    log: Path | None = None,
    callbacks: int = 0,
    plan: bool = False,
) -> TargetCompilation:
    """Compile StableHLO (bytecode or text) for a target in a separate process.

    ``overrides`` are XLA's flags (name, value) for this program, ``dump`` is a folder that XLA writes its dumps to
    (they stay there when the compilation is stopped), ``environment`` is added to the variables of the process,
    ``watch`` is told of the progress, ``log`` is a file for what the compiler prints, ``callbacks`` is how many Python
    functions the program calls, and ``plan`` requests the buffer assignment. Raises :class:`MissingTargetError`,
    :class:`TargetCompileError`, after ``seconds`` :class:`TargetTimeoutError`, and :class:`CompilationStopped`.
    """
    request = {
        "platform": target.platform,
        "name": target.name.partition(":")[2],
        "description": target.description,
        "plugin": "" if target.platform == "cpu" else str(find_plugin(target)),
        "callbacks": callbacks,
        "overrides": [*_default_overrides(target, dump), *map(list, overrides)],
        "memory": _memory_limit(),
        "plan": plan,
        "module": len(module),
    }
    began = time.perf_counter()
    with _CompilerProcess(_process_environment(target, environment), seconds, log) as process:
        if watch is not None:
            watch.on_start(process.stop)
        answer, parts = process.send_request(json.dumps(request).encode() + b"\n" + module, watch)
    if answer is None:
        raise process.failure(target)
    if "error" in answer:
        hint = _NO_HANDLER_HINT if "No FFI handler registered" in answer["error"] else ""
        raise TargetCompileError(f"the compiler for {target.name} refuses the program: {answer['error']}{hint}")
    memory = answer["memory"]
    hlo, assignment, proto = parts
    return TargetCompilation(
        module=answer["name"],
        hlo=hlo.decode(),
        cost=answer["cost"] or {},
        analysis=answer["analysis"] or {},
        memory=None if memory is None else MemoryUse(**memory),
        seconds=time.perf_counter() - began,
        buffer_assignment=assignment,
        module_proto=proto,
    )


def find_plugin(target: Target) -> Path:
    """Return the path of the library with a target's compiler; raises :class:`MissingTargetError` without one.

    The packages are searched for, not imported.
    """
    try:
        plugin = find_compiler("gpu" if target.platform == "cuda" else target.platform)
    except ForeignFileError as error:
        raise MissingTargetError(f"the compiler for {target.name} is not loaded: {error}") from None
    if plugin is not None:
        return plugin.library
    if not sys.platform.startswith("linux"):
        raise MissingTargetError(f"the compiler for {target.name} exists for Linux only, and this is {sys.platform}")
    raise MissingTargetError(f"the compiler for {target.name} is not installed; install it with: {INSTALL_COMMAND}")


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
            is_installed[target.platform] = target.platform == "cpu" or _is_installed(target)
        if not is_installed[target.platform]:
            missing[name] = (
                INSTALL_COMMAND if sys.platform.startswith("linux") else "its compiler exists for Linux only"
            )
    return missing


def _is_installed(target: Target) -> bool:
    try:
        find_plugin(target)
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


def _process_environment(target: Target, extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return the variables of the compiler's process: the user's, without those about devices that are here.

    ``extra`` is added to them.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TPU_", "PYTHONSTARTUP"))}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    if target.platform == "tpu":
        environment |= _TPU_ENVIRONMENT
    return environment | dict(extra or {})


def _default_overrides(target: Target, dump: Path | None) -> list[list[Any]]:
    # Without a device XLA cannot time candidates: it would fail where it autotunes matrix products.
    overrides: list[list[Any]] = [["xla_gpu_autotune_level", "0"]] if target.platform == "cuda" else []
    return [*overrides, ["xla_dump_to", str(dump)]] if dump is not None else overrides


def _memory_limit() -> int:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return _MAX_MEMORY_BYTES
    return min(_MAX_MEMORY_BYTES, total // 2)


class _CompilerProcess:
    """Process of a target's compiler, which gets one request and is killed at the end of the block at the latest.

    The request has ``seconds`` for its answer. What the process prints goes to the file ``log``, or a temporary one.
    """

    def __init__(self, environment: dict[str, str], seconds: float, log: Path | None = None) -> None:
        self._seconds = seconds
        self._is_stopped = self._is_timed_out = False
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

    def __enter__(self) -> _CompilerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with _SUPPRESS_BROKEN_PIPE:
                    pipe.close()
        self._process.wait()
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _LOG_TAIL_BYTES))
        self._tail = self._errors.read()
        self._errors.close()

    def stop(self) -> None:
        """Kill the process now, from any thread."""
        self._is_stopped = True
        self._process.kill()

    def send_request(self, request: bytes, watch: CompileProgress | None) -> tuple[dict[str, Any] | None, list[bytes]]:
        """Send a request and return the answer: its facts as a dictionary, and the texts after it as bytes.

        Returns (None, []) if the process ends without an answer or is killed; :meth:`failure` says why. ``watch`` is
        told of the progress.
        """
        limit = threading.Timer(self._seconds, self._stop_at_timeout)
        limit.daemon = True
        limit.start()
        try:
            return self._read_answer(request, watch)
        finally:
            limit.cancel()
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()

    def _read_answer(self, request: bytes, watch: CompileProgress | None) -> tuple[dict[str, Any] | None, list[bytes]]:
        """Write the request and return the facts and texts of the answer; (None, []) if the process ends before.

        ``watch`` is told of each stage that the compiler reaches.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        with _SUPPRESS_BROKEN_PIPE:
            requests.write(request)
            requests.flush()
        for line in answers:
            message = json.loads(line)
            if "stage" not in message:
                sizes = message.get("sizes", [])
                parts = [answers.read(size) for size in sizes]
                return (message, parts) if [len(part) for part in parts] == sizes else (None, [])
            if watch is not None:
                watch.report(message["stage"])
        return None, []

    def _stop_at_timeout(self) -> None:
        self._is_timed_out = True
        self._process.kill()

    def failure(self, target: Target) -> Exception:
        """Return the exception that says why there was no answer about ``target``: stopped, too slow, or crashed."""
        if self._is_stopped:
            return CompilationStopped(f"compiling for {target.name} was stopped")
        if self._is_timed_out:
            took = f"took longer than {self._seconds:g} s"
            return TargetTimeoutError(f"compiling for {target.name} {took}, and was stopped")
        code = self._process.returncode
        ending = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        lines = [line.strip() for line in self._tail.decode(errors="replace").splitlines()]
        informative = [line for line in lines if line and not line.startswith(_STACK_TRACE_PREFIXES)]
        suffix = f"; its last words: {informative[-1]}" if informative else ""
        return TargetCompileError(
            f"the compiler for {target.name} {ending} (it may take {_memory_limit() / 1e9:.3g} GB){suffix}"
        )
