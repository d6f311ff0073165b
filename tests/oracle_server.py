"""Run by `oracle.py` in an interpreter of its own: answers questions with jax, each in a child of this process.

A line of standard input is a question: where it runs, XLA's flags, the file, the function and where the answer goes.
A line of standard output says how the child ended. jax is imported once; what a question changes ends with its child.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

#: Parts of jax that programs use and that `import jax` does not bring.
PARTS = ["ad_checkpoint", "custom_batching", "custom_derivatives", "flatten_util", "image", "nn", "numpy", "random"]


def serve() -> None:
    jax = importlib.import_module("jax")
    for part in PARTS:
        importlib.import_module(f"jax.{part}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_tell(jax, *json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _tell(jax: Any, folder: str, flags: str, path: str, function: str, into: str) -> int:
    """Write an answer, or the traceback of what went wrong, and return the child's status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what programs print is no answer
    os.chdir(folder)
    os.environ["XLA_FLAGS"] = flags  # XLA reads it when its backend starts, which is in this child
    try:
        Path(into).write_bytes(pickle.dumps(_answer(jax, path, function)))
    except BaseException:
        Path(into).write_text(traceback.format_exc(), encoding="utf-8")
        return 1
    return 0


def _answer(jax: Any, path: str, function: str) -> tuple[Any, list[str]]:
    """What a function of a file of programs gives, and the files and folders that were read meanwhile."""
    read = set()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        name = arguments[0] if arguments else None
        source = event == "open" and str(name).endswith((".py", ".pyc"))
        if isinstance(name, str) and (source or event == "os.scandir"):
            read.add(os.path.abspath(name))

    sys.addaudithook(note)
    spec = importlib.util.spec_from_file_location("programs", path)
    assert spec is not None and spec.loader is not None
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    result = getattr(programs, function)(jax)
    return result, sorted({importlib.util.source_from_cache(name) if name.endswith(".pyc") else name for name in read})


if __name__ == "__main__":
    serve()
