"""The part ``watch``: a training script of xlascope and one of jax under ``python -m xlascope watch``."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from ...records import ScriptRun, load
from .context import Context
from .programs.journal import FAILS, WORKS, Item, Skipped

#: Seconds for one script.
LIMIT_SECONDS = 50.0
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
#: How a checkout without installed metadata says what watches programs of jax.
_METADATA = "Metadata-Version: 2.1\nName: xlascope-checkout\nVersion: 0\n"
_ENTRY_POINTS = "[xlascope.watchers]\njax = xlascope_jax:install\n"


def items(context: Context) -> Iterator[Item]:
    """Yield both scripts."""
    for engine in ("xlascope", "jax"):
        yield Item(f"script of {engine}", functools.partial(_watch, engine, context))


def _watch(engine: str, context: Context) -> dict[str, Any]:
    if importlib.util.find_spec(engine) is None:
        raise Skipped(f"{engine} is not installed")
    if engine == "jax" and importlib.util.find_spec("xlascope_jax") is None:
        raise Skipped("xlascope_jax is not on the path")
    script = context.path(f"scripts/train_with_{engine}.py")
    script.write_text(_SCRIPT.format(engine=engine))
    target = context.path(f"records/watched_{engine}")
    command = [sys.executable, "-m", "xlascope", "watch", "--progress", "off", "-o", str(target), str(script)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        env=_environment(context),
        cwd=script.parent,
    )
    file = target.with_suffix(".json")
    said = " ".join((done.stdout + done.stderr).split())[-600:]
    assert file.exists(), f"exit status {done.returncode}, no records: {said}"
    found = load(file)
    run = next(each for each in found if isinstance(each, ScriptRun))
    words = f"{len(run.shares)} programs, {run.making:.2f} s compiling, {run.running:.3f} s running; {', '.join(run.devices)}"
    works = done.returncode == 0 and bool(run.shares)
    return {
        "result": WORKS if works else FAILS,
        "words": words if works else f"{words}; {said}",
        "notes": list(run.notes),
    }


def _environment(context: Context) -> dict[str, str]:
    """Let the script run on the device that is examined; a checkout gets the metadata that an installation has."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not entry_points(group="xlascope.watchers"):
        folder = context.folder / "metadata" / "xlascope_checkout-0.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "METADATA").write_text(_METADATA)
        (folder / "entry_points.txt").write_text(_ENTRY_POINTS)
        paths.append(str(folder.parent))
    platform = {} if context.platform is None else {"JAX_PLATFORMS": context.platform}
    return os.environ | platform | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
