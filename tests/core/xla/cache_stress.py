"""A process that compiles and loads for some seconds: ``python cache_stress.py FOLDER SECONDS SEED``."""

import random
import sys
import time
import warnings

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records


def program(n: int):
    """One of several programs, each a new function."""
    return xs.jit(lambda x: jnp.sum(jnp.sin(x) * n) if n % 2 else jnp.max(x) + n)


def expected(n: int, x: np.ndarray) -> float:
    return float(np.sum(np.sin(x) * n) if n % 2 else np.max(x) + n)


def over(passed: float, seconds: float, outcomes: list[str], warned: int) -> bool:
    """Whether the time is up and all has happened, or a busy machine has been waited for long enough."""
    happened = min(outcomes.count("hit"), outcomes.count("miss")) >= 5 and warned
    return passed > seconds + 60 or bool(passed > seconds and happened)


def main(folder: str, seconds: float, seed: int) -> None:
    xs.config.update("compilation_cache_dir", folder)
    xs.config.update("compilation_cache_max_size", 100_000)
    chance, outcomes, wrong = random.Random(seed), [], 0
    records.watch(lambda record: outcomes.append(record.cache) if isinstance(record, records.Compiled) else None)
    x = np.linspace(0, 1, 20, dtype=np.float32)
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while not over(time.monotonic() - began, seconds, outcomes, len(caught)):
            n = chance.randrange(12)
            wrong += abs(float(program(n)(x)) - expected(n, x)) > 1e-3
    hits = outcomes.count("hit")
    print(f"hits={hits} misses={len(outcomes) - hits} wrong={wrong} warnings={len(caught)}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
