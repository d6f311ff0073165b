"""Which tests watch programs live and run after the others, two at a time, and which files neither run reads."""

import functools
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: What is imported beside jax alone, which is not for a process of tests.
BESIDE_JAX = HERE.parent / "kernel_ext" / "xlascope_jax" / "bridge"
#: Where tests drive a browser, a kernel or a profiler and wait for it; single tests elsewhere are marked one by one.
PLACES = (
    "browser/",
    "kernel_ext/",
    "notebooks/",
    "widgets/test_feed",
    "core/inspect/",
    "core/readers/test_live_profile",
)


@functools.cache
def place_of(path: Path) -> str:
    """Where a file or a folder is, from the folder of tests on; nothing for what is not in it."""
    if not path.is_relative_to(HERE):
        return ""
    return path.relative_to(HERE).as_posix() + "/" * path.is_dir()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if place_of(item.path).startswith(PLACES):
            item.add_marker(pytest.mark.live)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what holds no test of a run by the mark: reading all files takes a process 20 seconds."""
    if collection_path == BESIDE_JAX:
        return True
    words = str(config.option.markexpr).split()
    if "live" not in words or "or" in words:
        return None
    place = place_of(collection_path)
    if words[words.index("live") - 1] == "not":
        return True if place.startswith(PLACES) else None
    if not place:
        return True
    if place.startswith(PLACES) or collection_path.suffix != ".py":
        return None
    return True if "mark.live" not in collection_path.read_text(encoding="utf-8") else None
