"""The part ``watch``: a training script of xlascope and one of jax under ``python -m xlascope watch``."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from ...records import ScriptRun, load
from .context import Context
from .programs.journal import FAILS, WORKS, Item, Skipped

#: The time limit of one script.
SCRIPT_TIMEOUT_SECONDS = 50.0
_SCRIPT = """
import {engine} as xs, {engine}.numpy as jnp, numpy as np

@xs.jit
def step(weights, x, y):
    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)
    value, slopes = xs.value_and_grad(loss)(weights)
    return [w - 0.05 * slope for w, slope in zip(weights, slopes)], value

random = np.random.default_rng(0)
x = xs.device_put(random.normal(size=(256, 64)).astype("float32"))
y = jnp.sin(x[:, :1])
weights = [xs.device_put(0.1 * random.normal(size=shape).astype("float32")) for shape in ((64, 128), (128, 1))]
for number in range(400):
    weights, value = step(weights, x, y)
print("loss", float(value), flush=True)
"""


def items(context: Context) -> Iterator[Item]:
    """Yield a check for each engine, which watches a training script."""
    for engine in ("xlascope", "jax"):
        yield Item(f"script of {engine}", functools.partial(_watch_script, engine, context))


def _watch_script(engine: str, context: Context) -> dict[str, Any]:
    """Run a training script of an engine under ``python -m xlascope watch``, and check the records it writes."""
    if importlib.util.find_spec(engine) is None:
        raise Skipped(f"{engine} is not installed")
    if engine == "jax" and importlib.util.find_spec("xlascope_jax") is None:
        raise Skipped("xlascope_jax is not on the path")
    script = context.path(f"scripts/train_with_{engine}.py")
    script.write_text(_SCRIPT.format(engine=engine))
    target = context.path(f"records/watched_{engine}")
    command = [sys.executable, "-m", "xlascope", "watch", "--progress", "off", "-o", str(target), str(script)]
    proc = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SCRIPT_TIMEOUT_SECONDS,
        check=False,
        env=_script_environment(context),
        cwd=script.parent,
    )
    file = target.with_suffix(".json")
    output = " ".join((proc.stdout + proc.stderr).split())[-600:]
    assert file.exists(), f"exit status {proc.returncode}, no records: {output}"
    run = next(record for record in load(file) if isinstance(record, ScriptRun))
    words = f"{len(run.shares)} programs, {run.making:.2f} s compiling, {run.running:.3f} s running on "
    words += ", ".join(run.devices)
    if proc.returncode or not run.shares:
        return {"result": FAILS, "words": f"{words}; exit status {proc.returncode}: {output}", "notes": list(run.notes)}
    return {"result": WORKS, "words": words, "notes": list(run.notes)}


def _script_environment(context: Context) -> dict[str, str]:
    """Return the environment in which the script runs on the examined device."""
    return os.environ | ({} if context.platform is None else {"JAX_PLATFORMS": context.platform})
