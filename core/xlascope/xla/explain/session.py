"""One compilation that is listened to: in a process of its own, with a folder for its dumps, until the budget ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..targets import Built, CompilerInput, Watch, build


class Session(NamedTuple):
    """What is there afterwards: the dumps, the log, and what was built (None when the budget ended first)."""

    folder: Path
    log: Path
    built: Built | None


@contextmanager
def listened(
    given: CompilerInput,
    seconds: float,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    environment: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Iterator[Session]:
    """Compile the program, dumping as ``overrides`` say; the files live as long as the block.

    When ``seconds`` are over the compiler is stopped, and what it wrote so far is there. Raises what
    :func:`~xlascope.xla.targets.build` raises, but for that.
    """
    with tempfile.TemporaryDirectory(prefix="xlascope-") as name:
        folder = Path(name, "dumps")
        folder.mkdir()
        log = Path(name, "log")
        built: Built | None = None
        with suppress(TimeoutError):
            built = build(
                given.target,
                given.module,
                overrides=(*given.overrides, *overrides),
                dump=folder,
                environment=environment,
                watch=watch,
                seconds=seconds,
                log=log,
                callbacks=given.callbacks,
            )
        yield Session(folder, log, built)
