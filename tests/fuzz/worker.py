"""The program of a process that runs drawn programs with one library: ``python -m tests.fuzz.worker KIND LIBRARY``.

Requests arrive as lines of JSON on the standard input. Each answer is written as a line as soon as it is known, so a
program that ends the process is the one without an answer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import warnings
from typing import Any

#: Parts of a library that its import does not bring.
_PARTS = ("numpy", "nn", "debug", "experimental")


#: A program that ends the process, as XLA does at times.
END = "end the process"


def main(kind: str, library: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what programs print is no answer
    warnings.simplefilter("ignore")
    module, lib = importlib.import_module(f"tests.fuzz.{kind}"), importlib.import_module(library)
    for part in _PARTS:
        importlib.import_module(f"{library}.{part}")
    for line in sys.stdin:
        for program in json.loads(line)["calls"]:
            print(json.dumps(_answer(module, lib, program)), file=answers, flush=True)


def _answer(module: Any, lib: Any, program: Any) -> dict[str, Any]:
    """What a program gives, or the error that it raises."""
    if program == END:
        os._exit(1)
    try:
        return {"answer": module.answer(lib, program)}
    except Exception as error:
        last = traceback.format_exception(error)[-1].strip()
        return {"error": f"{type(error).__name__}: {last[:300]}"}


if __name__ == "__main__":
    main(*sys.argv[1:])
