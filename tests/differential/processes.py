"""Processes that perform calls: fed in batches, killed when a call takes too long, started again when one dies."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Seconds that one call may take; the first of a process waits for the library to be imported.
PATIENCE, FIRST_PATIENCE = 30.0, 120.0
#: Calls after which a process makes room for a new one: what they compiled stays in it.
CALLS_OF_A_LIFE = 1500


class Worker:
    """One library in a process of its own."""

    def __init__(
        self,
        library: str,
        faults: Sequence[str] = (),
        patience: float = PATIENCE,
        xla_flags: str = "",
        compiled: Path | None = None,
    ) -> None:
        self._command = [sys.executable, "-m", "tests.differential.worker", library, *faults]
        self._process: subprocess.Popen[bytes] | None = None
        self._patience = patience
        self._settings = {"XLA_FLAGS": xla_flags}
        if compiled:  # a folder where our programs are kept from run to run
            self._settings["XLASCOPE_COMPILATION_CACHE_DIR"] = str(compiled)
        self._unread = b""
        self._performed = 0
        self.restarts = 0

    def ask(self, calls: Sequence[Any], what: str = "perform") -> list[dict[str, Any]]:
        """An answer for each call, in order; one that ends the process is answered by how it ended."""
        answers: list[dict[str, Any]] = []
        while len(answers) < len(calls):
            answers += self._attempt(calls[len(answers) :], what)
        return answers

    def _attempt(self, calls: Sequence[Any], what: str) -> list[dict[str, Any]]:
        process = self._started(len(calls))
        request = json.dumps({"what": what, "calls": list(calls)}) + "\n"
        assert process.stdin is not None
        answers: list[dict[str, Any]] = []
        try:
            process.stdin.write(request.encode())
            process.stdin.flush()
            for _ in calls:
                answers.append(json.loads(self._line()))
        except TimeoutError:
            answers.append({"ended": f"no answer after {self._patience:.0f} s"})
            self.close()
        except (EOFError, BrokenPipeError):
            answers.append({"ended": f"killed by {self._code()}"})
            self.close()
        return answers

    def _code(self) -> str:
        assert self._process is not None
        return f"exit code {self._process.wait()}"

    def _started(self, coming: int) -> subprocess.Popen[bytes]:
        if self._process is not None and self._performed > CALLS_OF_A_LIFE:
            self.close()
        if self._process is None:
            self._unread, self._performed, self._first = b"", 0, True
            self.restarts += 1
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment() | self._settings,
            )
        self._performed += coming
        return self._process

    def _line(self) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(FIRST_PATIENCE if self._first else self._patience):
                    raise TimeoutError
                piece = os.read(self._process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise EOFError
                self._unread += piece
        self._first = False
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _environment() -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLASCOPE_", "XLA_FLAGS"))
    }
    return {**environment, "JAX_PLATFORMS": "cpu", "XLASCOPE_TRACEBACK_FILTERING": "off", "TF_CPP_MIN_LOG_LEVEL": "3"}


class Pair:
    """Both libraries, side by side."""

    def __init__(self, ours: Worker, jax: Worker) -> None:
        self.ours, self.jax = ours, jax
        self.numpy = Worker("tests.differential.reference")
        self._pool = ThreadPoolExecutor(2)

    def ask(self, calls: Sequence[Any], what: str = "perform") -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Our answer and jax's, for each call."""
        ours, jax = (self._pool.submit(worker.ask, calls, what) for worker in (self.ours, self.jax))
        return list(zip(ours.result(), jax.result(), strict=True))

    def listed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The public functions of both."""
        return self.ask([None], "list")[0]

    def close(self) -> None:
        self.ours.close()
        self.jax.close()
        self.numpy.close()
        self._pool.shutdown()
