"""One program of jax in a process of its own: ``python one_run.py HOW REPORT PROGRAM [WORDS…]``.

HOW is ``alone`` or ``watched``: then calls are counted, and all runs inside one window of the profiler. What is left in
memory and, where it is watched, how much of it is known goes to the file REPORT, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import logging
import runpy
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

HOW, REPORT, PROGRAM, *WORDS = sys.argv[1:]


def main() -> None:
    if HOW == "alone":
        report: dict[str, Any] = {}
        run(report)
    else:
        report = watched()
    Path(REPORT).write_text(json.dumps(report), encoding="utf-8")


def run(report: dict[str, Any]) -> None:
    """Run the program as ``python PROGRAM`` does, and keep what is left of it."""
    sys.argv[:] = [PROGRAM, *WORDS]
    sys.path[0] = str(Path(PROGRAM).parent)
    try:
        names = runpy.run_path(PROGRAM, run_name="__main__")
    except Exception as error:
        report["error"] = f"{type(error).__name__}: {error}"
        traceback.print_exc()
        names = {}
    report["numbers"] = numbers(names)


def numbers(names: dict[str, Any]) -> list[str]:
    """The digest of every array that the program has at its end."""
    import jax  # noqa: PLC0415 -- the program has imported it, or not at all

    jax.effects_barrier()
    leaves = [each for name in sorted(names) for each in jax.tree.leaves(names[name]) if isinstance(each, jax.Array)]
    return [digest(each) for each in leaves if not each.is_deleted()]


def digest(array: Any) -> str:
    import jax  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    held = np.asarray(array)
    return f"{held.dtype}{list(held.shape)} {hashlib.sha256(held.tobytes()).hexdigest()}"


def watched() -> dict[str, Any]:
    from coverage_of import coverage  # noqa: PLC0415 -- beside this file

    import xlascope_jax  # noqa: PLC0415
    from xlascope import records  # noqa: PLC0415
    from xlascope.inspect.running.profile_sampler import Sampler  # noqa: PLC0415
    from xlascope.xla.profiling.profiler_windows import Window  # noqa: PLC0415

    failures: list[str] = []
    logging.getLogger().addHandler(Heard(failures))
    found: list[records.Record] = []
    undo = xlascope_jax.install()
    report: dict[str, Any] = {}
    with records.watch(found.append), Sampler(windows=False), Window() as window:
        run(report)
    undo()
    report |= coverage(found, window.data, PROGRAM)
    return report | {"failures": failures, "records": dict(Counter(type(each).__name__ for each in found))}


class Heard(logging.Handler):
    """Keeps what we log: a failure of ours reaches nobody otherwise."""

    def __init__(self, failures: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("xlascope"):
            self._failures.append(self.format(record))


if __name__ == "__main__":
    main()
