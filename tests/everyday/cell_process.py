"""Call cells of the table four times each: ``python -m tests.everyday.cell_process`` reads the cells from standard
input as JSON and writes a line of JSON when a cell begins and one with its outcome when it ends.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import re
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
from tests.everyday import cells
from tests.everyday.counting import count_everything, counts

import xlascope as xs
from xlascope import records

#: The call from which on nothing may be traced, lowered or compiled.
_LAST_COMPILING = 2
_RTOL = 1e-5
_RECORDS = (records.Traced, records.Lowered, records.Compiled)


def run_cell(cell: cells.Cell) -> dict[str, Any]:
    """Call a cell four times; say whether it passed, was refused, or failed, and how."""
    began = time.process_time()
    with _watch_if_asked(cell) as seen:
        status, text = _call_four_times(cell, seen)
    return {"status": status, "text": text, "seconds": time.process_time() - began}


@contextlib.contextmanager
def _watch_if_asked(cell: cells.Cell) -> Any:
    """Watch where the cell is watched; gives the counter of records, or None."""
    if not cell.watched:
        yield None
        return
    seen: Counter[str] = Counter()
    with records.watch(lambda record: seen.update([type(record).__name__] * isinstance(record, _RECORDS))):
        yield seen


def _call_four_times(cell: cells.Cell, seen: Counter[str] | None) -> tuple[str, str]:
    results, errors, work = [], [], []
    try:
        with cells.prepare_call(xs, cell) as call:
            for turn in range(4):
                before, before_seen = Counter(counts), Counter(seen)
                number = turn % 2 if cell.changing else 0
                try:
                    results.append((number, call(number)))
                except Exception as error:
                    errors.append(_describe_error(error))
                work.append((counts - before, Counter(seen) - before_seen))
    except Exception as error:
        return "refused", _describe_error(error)
    if errors:
        if len(errors) == 4 and len(set(errors)) == 1:
            return "refused", errors[0]
        return "failed", f"{len(errors)} of four calls raise: {' / '.join(dict.fromkeys(errors))}"
    return _check_results(cell, results, work)


def _check_results(cell: cells.Cell, results: list[tuple[int, Any]], work: list[Any]) -> tuple[str, str]:
    for turn, (number, result) in enumerate(results):
        wanted = cells.compute_expected(cell, number)
        if result.shape != wanted.shape or not np.allclose(result.astype(complex), wanted, rtol=_RTOL):
            return "failed", f"call {turn + 1} gives {_describe_array(result)}, NumPy {_describe_array(wanted)}"
        earlier = next(value for other, value in results if other == number)
        if result.dtype != earlier.dtype or result.tobytes() != earlier.tobytes():
            other = _describe_array(earlier)
            return "failed", f"call {turn + 1} gives {_describe_array(result)}, an equal one before it {other}"
    if cell.way == "jit" and not all(work[0][0][stage] for stage in ("traced", "lowered", "compiled")):
        return "failed", f"the first call is not counted: {dict(work[0][0])}"
    if cell.way in cells.RUN_AT_EACH_CALL:
        for counted, _ in work:
            del counted["staged"]
    for turn, (counted, recorded) in enumerate(work[_LAST_COMPILING:], _LAST_COMPILING):
        if counted or recorded:
            return "failed", f"call {turn + 1}: {dict(counted)} {dict(recorded)}"
    if cell.changing and cell.way != "static" and work[1][0]:
        return "failed", f"another value: {dict(work[1][0])}"
    return "passed", ""


def _describe_array(values: Any) -> str:
    return f"{values.dtype} {values.shape} {values.ravel()[:3].tolist()}"


def _describe_error(error: Exception) -> str:
    """Return the error without addresses and numbers of lines."""
    first = str(error).partition("\n")[0]
    first = re.sub(r"(?<=an object of type)(.*?>).*", r"\1", first)  # jaxlib prints the value, which may change
    return re.sub(r"0x[0-9a-f]+|:\d+", "", f"{type(error).__name__}: {first}")


def main() -> None:
    faulthandler.enable()
    count_everything()
    for line in json.load(sys.stdin):
        cell = cells.Cell(*line)
        print(json.dumps({"begins": cell.name}), flush=True)
        print(json.dumps({"ended": cell.name, "outcome": run_cell(cell)}), flush=True)


if __name__ == "__main__":
    main()
