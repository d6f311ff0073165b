"""Several kinds of devices in one process: a second client stands in for another kind, and values really move."""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from jaxlib import xla_client

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.lib import xla_bridge
from xlascope.xla.execution.executables import Executable
from xlascope.xla.platforms import platform_selection


@pytest.fixture(scope="module")
def there() -> Iterator[Any]:
    """A device of another client."""
    xla_bridge.register_backend_factory("pretend", lambda: xla_client.make_cpu_client(num_devices=2))
    yield xs.devices("pretend")[1]
    platform_selection.unregister_backend("pretend")


def lives_on(x: Any) -> Any:
    (device,) = x.devices()
    return device


def values() -> Any:
    return np.arange(4, dtype=np.float32)


PLACED = {
    "device_put": lambda there: xs.device_put(values(), there),
    "device_put of an array": lambda there: xs.device_put(jnp.asarray(values()), there),
    "device_put of a committed array": lambda there: xs.device_put(xs.device_put(values(), xs.devices()[0]), there),
    "an operation": lambda there: xs.device_put(values(), there) * 1.0,
    "an operation with what is not committed": lambda there: xs.device_put(values(), there) + jnp.zeros(4),
    "indexing": lambda there: xs.device_put(np.arange(5, dtype=np.float32), there)[:4],
    "jit": lambda there: xs.jit(lambda x: x * 1.0)(xs.device_put(values(), there)),
    "jit(device)": lambda there: xs.jit(lambda x: x * 1.0, device=there)(values()),
    "grad": lambda there: xs.grad(lambda x: jnp.sum(x**2) / 2)(xs.device_put(values(), there)),
    "scan": lambda there: xs.lax.scan(lambda c, x: (c + x, x), 0.0, xs.device_put(values(), there))[1],
    "a constant of the program": lambda there: xs.jit(lambda x: x + jnp.zeros(4))(xs.device_put(values(), there)),
}


@pytest.mark.parametrize("case", PLACED)
def test_values_are_where_they_are_put(there: Any, case: str) -> None:
    for _ in range(3):  # the third call is jaxlib's own
        found = PLACED[case](there)
        assert lives_on(found) == there and lives_on(found).client is there.client
        np.testing.assert_array_equal(np.asarray(found), values())


def test_jit_of_a_backend_and_default_device(there: Any) -> None:
    first = xs.devices("pretend")[0]
    assert lives_on(xs.jit(lambda x: x + 1.0, backend="pretend")(values())) == first
    with xs.default_device(there):
        made = jnp.ones(3)
        assert lives_on(made) == there and lives_on(made * 2.0) == there
    assert lives_on(jnp.ones(3)).client is xs.devices()[0].client


def test_constants_are_put_where_the_program_runs(there: Any) -> None:
    """A CPU takes the buffers of another CPU's client; a GPU's refused them."""
    table = jnp.arange(4.0) * 2.0

    def adds_a_table(x: Any) -> Any:
        return x + table

    np.testing.assert_array_equal(np.asarray(xs.jit(adds_a_table)(xs.device_put(values(), there))), values() * 3.0)
    (executable,) = (
        each for each in gc.get_objects() if isinstance(each, Executable) and each.jaxpr.name == "adds_a_table"
    )
    assert [lives_on(constant) for constant in executable.consts] == [there]


def test_and_back(there: Any) -> None:
    far = xs.device_put(values(), there)
    near = xs.device_put(far, xs.devices()[0])
    assert lives_on(near) == xs.devices()[0]
    np.testing.assert_array_equal(np.asarray(near), values())
    with pytest.raises(ValueError, match="different devices"):
        far + near


def test_donation_and_factorizations(there: Any) -> None:
    given = xs.device_put(values(), there)
    xs.jit(lambda x: x * 2.0, donate_argnums=0)(given)
    assert given.is_deleted()
    matrix = xs.device_put(4 * np.eye(3, dtype=np.float32), there)
    factor = jnp.linalg.cholesky(matrix)
    assert lives_on(factor) == there
    np.testing.assert_allclose(np.asarray(factor), 2 * np.eye(3), rtol=1e-6)


def test_the_names_of_platforms(there: Any) -> None:
    assert xs.default_backend() == "cpu" and xs.device_count("pretend") == 2
    assert xla_bridge.get_backend("pretend").devices() == xs.devices("pretend")
    with pytest.raises(ValueError, match="already"):
        xla_bridge.register_backend_factory("pretend", lambda: None)
    with pytest.raises(ValueError, match="already"):
        xla_bridge.register_backend_factory("cuda", lambda: None)
    with pytest.raises(RuntimeError, match="no backend named 'abacus'; those here are cpu, pretend"):
        xs.devices("abacus")


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_preferred_platform_is_the_default(calls: int) -> None:
    jitted = xs.jit(lambda x: x + 1.0)
    for _ in range(calls):  # which jaxlib then repeats by itself
        jnp.ones(2), jitted(values())
    xla_bridge.register_backend_factory("preferred", lambda: xla_client.make_cpu_client(num_devices=1), priority=1)
    try:
        assert xs.devices() == xs.devices("preferred")
        for _ in range(3):
            assert lives_on(jnp.ones(2)) == xs.devices("preferred")[0]
            assert lives_on(jitted(values())) == xs.devices("preferred")[0]
    finally:
        platform_selection.unregister_backend("preferred")
    assert xs.devices() == xs.devices("cpu")
    assert lives_on(jnp.ones(2)) == lives_on(jitted(values())) == xs.devices("cpu")[0]


def test_one_that_does_not_start_is_told_and_the_next_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Any:
        raise RuntimeError("no such luck")

    xla_bridge.register_backend_factory("broken", broken, priority=1)
    try:
        assert xs.devices() == xs.devices("cpu") and xs.default_backend() == "cpu"
    finally:
        platform_selection.unregister_backend("broken")
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == ["no such luck"]
