"""One compilation in a separate process, with a folder for its dumps and a time budget."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..targets import CompileProgress, CompilerInput, TargetCompilation, compile_for_target


class DumpSession(NamedTuple):
    """Folder with a compilation's dumps, the file with what the compiler printed, and the result.

    ``result`` is None when the time budget ended first.
    """

    folder: Path
    log: Path
    result: TargetCompilation | None


@contextmanager
def compile_with_dumps(
    program: CompilerInput,
    seconds: float,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    environment: Mapping[str, str] | None = None,
    watch: CompileProgress | None = None,
) -> Iterator[DumpSession]:
    """Compile a program in a separate process with the dumps that ``overrides`` request.

    ``seconds`` is the time budget: after it the compiler is stopped, and what it wrote so far is available.
    ``overrides`` are XLA flags (name, value) besides the program's own, ``environment`` is added to the process's
    variables, and ``watch`` is told of the progress. The files are deleted at the end of the block. Raises what
    :func:`~xlascope.xla.targets.compile_for_target` raises, except for the timeout.
    """
    with tempfile.TemporaryDirectory(prefix="xlascope-") as name:
        folder = Path(name, "dumps")
        folder.mkdir()
        log = Path(name, "log")
        result: TargetCompilation | None = None
        with suppress(TimeoutError):
            result = compile_for_target(
                program.target,
                program.module,
                overrides=(*program.overrides, *overrides),
                dump=folder,
                environment=environment,
                watch=watch,
                seconds=seconds,
                log=log,
                callbacks=program.callbacks,
            )
        yield DumpSession(folder, log, result)
