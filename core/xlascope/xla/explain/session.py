"""One compilation in a separate process, with a folder for its dumps and a time budget."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..targets import Built, CompilerInput, Watch, build


class Session(NamedTuple):
    """Dumps, log and result of a compilation; ``result`` is None when the budget ended first."""

    folder: Path
    log: Path
    built: Built | None


@contextmanager
def listened(
    program: CompilerInput,
    seconds: float,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    environment: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Iterator[Session]:
    """Compile the program with the dumps that ``overrides`` request; the files live as long as the block.

    After ``seconds`` the compiler is stopped, and what it wrote so far is available. Raises what
    :func:`~xlascope.xla.targets.build` raises, except for the timeout.
    """
    with tempfile.TemporaryDirectory(prefix="xlascope-") as name:
        folder = Path(name, "dumps")
        folder.mkdir()
        log = Path(name, "log")
        result: Built | None = None
        with suppress(TimeoutError):
            result = build(
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
        yield Session(folder, log, result)
