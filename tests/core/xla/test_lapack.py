"""How LAPACK is loaded."""

import json
import os

import pytest

from xlascope.xla.mlir import lapack

_PROGRAM = """
import ctypes, json, os, re
import numpy as np
import xlascope.numpy as jnp
before = dict(os.environ)
jnp.linalg.eigh(np.eye(3))
maps = "/proc/self/maps"
mapped = open(maps).read() if os.path.exists(maps) else ""
libraries = set(re.findall(r"/\\S*scipy.libs/\\S*openblas\\S*", mapped))
polls = [getattr(ctypes.CDLL(path), "openblas_thread_timeout", None) for path in libraries]
print(json.dumps({"polls": [poll and poll() for poll in polls], "same": dict(os.environ) == before}))
"""


def test_idle_threads_of_openblas_poll_briefly(fresh_python, monkeypatch):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    found = json.loads(fresh_python(_PROGRAM))
    assert found["same"]
    if None in found["polls"] or not found["polls"]:
        pytest.skip("this SciPy has no OpenBLAS that says for how long its threads poll")
    assert found["polls"] == [16]


@pytest.mark.parametrize(("before", "meanwhile"), [(None, "16"), ("20", "20")])
def test_what_the_user_asks_for_stays(before, meanwhile, monkeypatch):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    if before is not None:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", before)
    with pytest.raises(KeyboardInterrupt), lapack._short_polling():
        assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == meanwhile
        raise KeyboardInterrupt
    assert os.environ.get("OPENBLAS_THREAD_TIMEOUT") == before
