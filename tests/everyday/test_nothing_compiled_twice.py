"""The third of three equal calls traces, lowers and compiles nothing: of every public function, with arguments as the
differential test draws them, and of every pair of transformations around a small network.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests import compiling
from tests.differential import generating
from tests.differential.generating import Function
from tests.differential.library import CLASSES
from tests.differential.processes import Worker
from tests.everyday import transformed_networks as networks

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.missing import names_of_jax

#: Functions whose third call may compile, with the reason.
ALLOWED: dict[str, str] = {}
#: The draws of a call; of these `make test` takes every so many functions, from the first.
SEED, STRIDE = 3, 4
#: Draws per function in the slow part.
ROUNDS = 3
#: At least this part of the calls succeed, so that something is tested.
SUCCEEDED = 0.6

PAIRS = list(itertools.product(networks.TRANSFORMATIONS, repeat=2))
#: The pairs in `make test`: each transformation outside of one and inside of one.
FEW_PAIRS = [(name, "vmap") for name in networks.TRANSFORMATIONS] + [
    ("grad", name) for name in networks.TRANSFORMATIONS
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    one = Worker("xlascope", xla_flags=compiling.xla_flags(), compiled=compiling.KEPT)
    yield one
    one.close()


@pytest.fixture(scope="module")
def functions(worker: Worker) -> list[Function]:
    """The public functions, methods of arrays and of public classes among them."""
    (listed,) = worker.ask([None], "list")
    return [each for each in generating.judged(listed, listed) if _is_public(each.name)]


def _is_public(name: str) -> bool:
    owner = name.rpartition(".")[0]
    return name in names_of_jax() or owner in ("array", "array.at") or owner in CLASSES


def _walk(worker: Worker, functions: Sequence[Function], how: str, rounds: int = 1) -> None:
    """Call each function three times; AssertionError lists those whose third call made something."""
    drawn = [generating.drawn_call(each, SEED, round_) for round_ in range(rounds) for each in functions]
    calls = [{**call, "how": how} if call["how"] in ("eager", "jit") else call for call in drawn]
    answers = list(zip(calls, worker.ask(calls, "repeated"), strict=True))
    again = {call["function"]: answer["made"] for call, answer in answers if answer.get("made")}
    ended = {call["function"]: answer["ended"] for call, answer in answers if "ended" in answer}
    succeeded = sum("made" in answer for _, answer in answers)
    assert ({name: made for name, made in again.items() if name not in ALLOWED}, ended) == ({}, {})
    assert succeeded > SUCCEEDED * len(calls)


@pytest.mark.parametrize("how", ["eager", "jit"])
def test_a_function_compiles_nothing_at_its_third_call(how: str, worker: Worker, functions: list[Function]) -> None:
    offset = ["eager", "jit"].index(how)
    _walk(worker, functions[offset::STRIDE], how)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("how", ["eager", "jit"])
def test_no_function_compiles_anything_at_its_third_call(how: str, worker: Worker, functions: list[Function]) -> None:
    _walk(worker, functions, how, ROUNDS)


def _made_by_third_call(function: Any) -> list[str]:
    function(networks.INPUT)
    function(networks.INPUT)
    seen: list[Any] = []
    with records.watch(seen.append):
        function(networks.INPUT)
    return [
        type(each).__name__ for each in seen if isinstance(each, records.Traced | records.Lowered | records.Compiled)
    ]


def _check_pair(outer: str, inner: str) -> None:
    nets = [networks.network]
    if not {outer, inner} & networks.FORWARD:
        nets.append(networks.with_reverse_rule)
    for net in nets:
        function = networks.transformed(outer, inner, net)
        assert _made_by_third_call(function) == []
        assert _made_by_third_call(xs.jit(function)) == []


@pytest.mark.parametrize("outer, inner", dict.fromkeys(FEW_PAIRS))
def test_a_pair_of_transformations_compiles_nothing_at_the_third_call(outer: str, inner: str) -> None:
    _check_pair(outer, inner)


@pytest.mark.slow
@pytest.mark.parametrize("outer, inner", [pair for pair in PAIRS if pair not in FEW_PAIRS])
def test_every_pair_of_transformations_compiles_nothing_at_the_third_call(outer: str, inner: str) -> None:
    _check_pair(outer, inner)


@pytest.mark.parametrize("outer, inner", [("jvp", "grad"), ("nothing", "grad"), ("vmap", "nothing")])
def test_nothing_is_compiled_when_python_specializes_the_bytecode(outer: str, inner: str) -> None:
    function = networks.transformed(outer, inner, networks.fresh_network())
    function(networks.INPUT)
    function(networks.INPUT)
    seen: list[Any] = []
    with records.watch(seen.append):
        for _ in range(20):
            function(networks.INPUT)
    assert [each for each in seen if isinstance(each, records.Compiled)] == []


class _StandsForAnArray:
    """A parameter of somebody's layers."""

    def __jax_array__(self) -> Any:
        return jnp.arange(3.0)


@pytest.mark.parametrize("function", [jnp.sin, jnp.flip, lambda x: jnp.add(x, 1), jnp.nonzero])
def test_an_object_that_stands_for_an_array_compiles_nothing_at_the_third_call(function: Any) -> None:
    given = _StandsForAnArray()
    assert _made_by_third_call(lambda _: function(given)) == []
