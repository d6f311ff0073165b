"""What published pages about JAX print is printed here: docs/reproduced.md is the table of all that they claim."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import compiling
from tests.core import printed_programs
from tests.core.printed_programs import PRINTED, flat

import xlascope.numpy as jnp
from xlascope import inspect, jit, lax, make_jaxpr, nn, random, vmap
from xlascope.records import Compiled

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reproduced.md"


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What all programs print, in one process."""
    done = subprocess.run(
        [sys.executable, printed_programs.__file__],
        cwd=ROOT,
        env={**os.environ, **compiling.quickly()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("program", PRINTED, ids=lambda program: program.__name__)
def test_a_program_prints_what_its_page_shows(program: Callable[[], Any], printed: dict[str, Any]) -> None:
    found, wanted = list(flat(printed[program.__name__])), list(flat(PRINTED[program]))
    # Three digits are printed on most pages; the derivatives of tan near its poles lose four of seven.
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=6e-4)


def func1(first: Any, second: Any) -> Any:
    return jnp.sum(first + jnp.sin(second) * 3.0)


def func2(inner: Callable[[Any], Any], first: Any, second: Any) -> Any:
    return jnp.sum(first + inner(second) * 3.0)


def inner(second: Any) -> Any:
    if second.shape[0] > 4:
        return jnp.sin(second)
    raise AssertionError


def func7(arg: Any) -> Any:
    return lax.cond(arg >= 0.0, lambda t: t + 3.0, lambda t: t - 3.0, arg)


def func12(arg: Any) -> Any:
    @jit
    def inner(x: Any) -> Any:
        return x + arg * jnp.ones(1)  # a constant in the inner function

    return arg + inner(arg - 2.0)


def by_rank(x: Any) -> Any:
    return 2 * x**3.0 if x.ndim == 0 else 3 * x


EIGHT = (np.zeros(8, "float32"), np.ones(8, "float32"))
#: The operations of the jaxprs that slides show, those of bodies where they stand.
JAXPRS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "func1": (func1, EIGHT, "sin mul add reduce_sum"),
    "func3": (lambda a, b: func2(inner, a, b), EIGHT, "sin mul add reduce_sum"),
    "func7": (func7, (5.0,), "ge convert_element_type cond sub add"),
    "func12": (
        *(func12, (1.0,)),
        "sub jit broadcast_in_dim convert_element_type mul convert_element_type add convert_element_type add",
    ),
    "by rank: of a number": (by_rank, (0.0,), "pow mul"),
    "by rank: of a vector": (by_rank, (np.ones(4, "float32"),), "mul"),
    "ones times x": (lambda x: jnp.ones((1, 5)) * x, (3.0,), "broadcast_in_dim convert_element_type mul"),
    # The talk's has no second log: what does not depend on the argument was computed while tracing then.
    "log2": (lambda x: lax.log(x) / lax.log(2), (8.0,), "log log div"),
}


@pytest.mark.parametrize("name", JAXPRS)
def test_a_jaxpr_is_the_one_on_the_slide(name: str) -> None:
    f, arguments, operations = JAXPRS[name]
    text = str(make_jaxpr(f)(*arguments))
    assert re.findall(r":\w+\[[^]]*\] = (\w+)", text) == operations.split()


def test_a_predictor_of_one_image_takes_a_batch_under_vmap() -> None:
    keys = random.split(random.key(0), 3)
    sizes = [(784, 512), (512, 512), (512, 10)]
    layers = [0.01 * random.normal(key, size) for key, size in zip(keys, sizes, strict=True)]

    def predict(layers: Any, image: Any) -> Any:
        for w in layers[:-1]:
            image = nn.relu(jnp.dot(w.T, image))
        return jnp.dot(layers[-1].T, image)

    assert predict(layers, jnp.ones(784)).shape == (10,)
    with pytest.raises(TypeError, match="dot of shapes"):
        predict(layers, jnp.ones((10, 784)))
    assert vmap(predict, in_axes=(None, 0))(layers, jnp.ones((10, 784))).shape == (10, 10)


def test_elementwise_operations_become_one_kernel() -> None:
    records = inspect.fusions(lambda x: x * x + x * 2.0, np.ones((50, 50), "float32")).records
    [kernels] = [each.kernels for each in records if isinstance(each, Compiled)]
    assert len(kernels) == 1


def change(x: Any) -> None:
    x[1] = 1.0


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (lambda: jnp.diag([1.0, 2.0, 3.0]), "Convert lists"),
        (lambda: vmap(lambda n: jnp.sum(jnp.ones((n,)) * 4))(jnp.arange(1, 10)), "is not known while the function"),
        (lambda: vmap(jit(lambda x: x, static_argnums=0))(jnp.arange(5)), "static argument x"),
        (lambda: change(jnp.zeros(3)), r"x\.at\[index\]\.set"),
        (lambda: jit(lambda x, y: x)(42, "add"), "Make y static"),
    ],
)
def test_what_the_tutorial_refuses(program: Callable[[], Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        program()


def test_the_page_names_tests_that_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    missing = [
        (file, name)
        for file, name in named
        if not (ROOT / file).exists() or (name and f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert missing == []
    assert {program.__name__ for program in PRINTED} <= set(re.findall(r"`(\w+)`", text))
