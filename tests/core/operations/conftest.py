"""Gives tests that ask for a ``row`` each row of the table."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


class _NoJax:
    """jaxlib tries to import jax when it turns a bfloat16 array into NumPy's; the oracle stays in its own process."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "jax":
            raise ModuleNotFoundError("jax is not for this process", name=name)


sys.meta_path.insert(0, _NoJax())


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"xlascope_operations_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


TABLE = _load("table")


@pytest.fixture(scope="session")
def table() -> ModuleType:
    """The module ``table.py`` beside this file."""
    return TABLE


def _chosen(metafunc: pytest.Metafunc) -> list[object]:
    """The rows that a test marked ``rows("moving")`` or ``rows("linear")`` is for."""
    mark = metafunc.definition.get_closest_marker("rows")
    rows = TABLE.ROWS
    if mark is None:
        return list(rows)
    return [row for row in rows if getattr(row, mark.args[0])]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rows(attribute): only the rows of the table for which this holds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dtype" in metafunc.fixturenames and "row" in metafunc.fixturenames:
        pairs = [(row, dtype) for row in _chosen(metafunc) for dtype in row.dtypes]
        metafunc.parametrize(("row", "dtype"), pairs, ids=[f"{row.id}-{dtype}" for row, dtype in pairs])
    elif "row" in metafunc.fixturenames:
        rows = _chosen(metafunc)
        metafunc.parametrize("row", rows, ids=[row.id for row in rows])
