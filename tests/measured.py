"""Tests of what is measured while other programs run on the same machine."""

import functools
import time
from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])

#: As often a test begins again.
TIMES = 4


def begins_again(test: Test) -> Test:
    """Let a test begin again when it fails: another program may disturb a measurement, and not all of them."""

    @functools.wraps(test)
    def repeated(*args: object, **kwargs: object) -> None:
        for _ in range(TIMES):
            try:
                return test(*args, **kwargs)
            except AssertionError:
                time.sleep(0.5)
        return test(*args, **kwargs)

    return repeated  # type: ignore[return-value]
