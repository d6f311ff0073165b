"""One compilation that is listened to: in a process of its own, with a folder for its dumps, until the budget ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..targets import Built, Watch, build
from .lowered import Subject


class Session(NamedTuple):
    """What is there afterwards: the dumps, the log, and what was built (None when the budget ended first)."""

    folder: Path
    log: Path
    built: Built | None


@contextmanager
def listened(
    subject: Subject,
    seconds: float,
    *,
    overrides: Sequence[tuple[str, Any]] = (),
    environment: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Iterator[Session]:
    """Compile the subject, dumping as ``overrides`` say; the files live as long as the block.

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
                subject.target,
                subject.module,
                overrides=(*subject.overrides, *overrides),
                dump=folder,
                environment=environment,
                watch=watch,
                seconds=seconds,
                log=log,
                callbacks=subject.callbacks,
            )
        yield Session(folder, log, built)
