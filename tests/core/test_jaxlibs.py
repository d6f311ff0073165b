"""The versions of jaxlib stand in one place: what pip reads says the same."""

import re
import tomllib
from pathlib import Path

import pytest
from tests import matrix

from xlascope.readers import format_error
from xlascope.runtime import supported_jaxlibs

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_no_jaxlib_is_too_new_for_pip() -> None:
    """Otherwise pip takes a newer one away, and jax's with it."""
    assert f"jaxlib>={supported_jaxlibs.OLDEST.version}" in PROJECT["dependencies"]
    assert f"jax>={supported_jaxlibs.OLDEST.version}" in EXTRAS["jax"]


def test_the_tests_take_a_jaxlib_that_was_tried() -> None:
    assert supported_jaxlibs.tested_requirement() in EXTRAS["test"]


@pytest.mark.parametrize("extra", ["cuda", "cuda12", "tpu"])
def test_plugins_are_those_of_a_jaxlib_that_was_tried(extra: str) -> None:
    oldest, newest = supported_jaxlibs.OLDEST, supported_jaxlibs.NEWEST
    for line in EXTRAS[extra]:
        name = re.match(r"[\w-]+", line)
        assert name is not None
        wanted = oldest if "python_version < '3.12'" in line else newest
        if name[0] == "libtpu":
            assert line.startswith(f"libtpu=={wanted.libtpu}.*;")
        else:
            major, minor = supported_jaxlibs.parse_version(wanted.version)[:2]
            assert f">={wanted.version},<{major}.{minor + 1};" in line


def test_plugins_come_with_the_extras_that_run_on_devices_alone() -> None:
    """`import jax` starts every plugin that is installed: where there is no device it complains each time."""
    bring = {extra for extra, lines in EXTRAS.items() if any(re.match(r"libtpu|jax-cuda", line) for line in lines)}
    assert bring == {"cuda", "cuda12", "tpu"}


def test_readers_say_which_forms_they_know() -> None:
    oldest, newest = (
        supported_jaxlibs.release_series(each.version) for each in (supported_jaxlibs.OLDEST, supported_jaxlibs.NEWEST)
    )
    assert f"jaxlib {oldest} to {newest}" == format_error.KNOWN


def test_each_has_a_row_of_what_ran() -> None:
    assert {each.jaxlib for each in matrix.ENVIRONMENTS} == {each.version for each in supported_jaxlibs.TESTED}


def test_what_is_tried_is_in_order() -> None:
    versions = [supported_jaxlibs.parse_version(each.version) for each in supported_jaxlibs.TESTED]
    assert versions == sorted(versions)
    assert all(supported_jaxlibs.is_tested(each.version) for each in supported_jaxlibs.TESTED)
