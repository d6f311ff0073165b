"""How programs of tests are compiled: where only what they give is tested, what was compiled before is loaded."""

import pytest
from tests import alone, oracle

#: Rooms where what a program gives is tested and not how it was compiled.
ROOMS = tuple(
    f"core/{room}/"
    for room in ("compositions", "control", "extend", "lax", "nn", "numpy", "operations", "random", "transforms")
)
KEPT = oracle.ROOT / "build" / "compiled"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile from now on as this test's programs are to be compiled."""
    import xlascope  # noqa: PLC0415 -- not above: tests set what it reads from the environment when it is imported

    folder = str(KEPT) if alone.place_of(item.path).startswith(ROOMS) else None
    if xlascope.config.jax_compilation_cache_dir != folder:
        xlascope.config.update("compilation_cache_dir", folder)
