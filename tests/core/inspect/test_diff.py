"""Two calls compared: what aligns with what, what differs, and whether one is faster by more than the noise."""

import dataclasses
import json
import random
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.analysis.diff import compare, compare_timings, diff_from_json
from xlascope.analysis.diff.sequences import align
from xlascope.inspect.running import interleaved_timing
from xlascope.xla.execution.executables import Executable

X = np.ones((8, 16), np.float32)
W = np.ones((16, 4), np.float32)


def longest_common(a: str, b: str) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    rows = [0] * (len(b) + 1)
    for x in a:
        above = 0
        for j, y in enumerate(b, 1):
            above, rows[j] = rows[j], above + 1 if x == y else max(rows[j], rows[j - 1])
    return rows[-1]


def test_an_alignment_is_ascending_equal_and_as_long_as_can_be() -> None:
    draw = random.Random(0)
    for _ in range(500):
        a, b = ("".join(draw.choices("abcd", k=draw.randrange(14))) for _ in range(2))
        pairs = align(a, b)
        assert len(pairs) == longest_common(a, b), (a, b)
        assert all(a[i] == b[j] for i, j in pairs)
        assert all(p < q and r < s for (p, r), (q, s) in pairwise(pairs))


def test_long_sequences_that_differ_in_everything_are_aligned_in_time() -> None:
    draw = random.Random(0)
    a, b = ([draw.randrange(5000) for _ in range(6000)] for _ in range(2))
    pairs = align(a, b)
    assert pairs and all(a[i] == b[j] for i, j in pairs)
    assert align(a, a) == [(i, i) for i in range(6000)]


def layer(x: Any, w: Any) -> Any:
    h = jnp.tanh(x @ w)
    return h * 2.0


def signs(found: Any) -> Counter[str]:
    return Counter(each.sign for each in found.diff.equations)


def told(found: Any, sign: str) -> list[str]:
    """The operations of the equations with a sign."""
    new, old = ({e.path: e.operation for e in side[0].jaxpr.walk()} for side in (found.diff.after, found.diff.before))
    return [
        new[each.after] if each.after is not None else old[each.before]
        for each in found.diff.equations
        if each.sign == sign
    ]


def test_a_function_compared_with_itself_is_alike() -> None:
    found = inspect.diff((layer, X, W), (layer, X, W))
    assert signs(found) == {"=": 3}
    assert {each.kind for each in found.diff.kernels} == {"same"}
    assert all(n.before == n.after for n in found.diff.numbers)
    assert found.diff.labels == ("layer before", "layer after")


def test_jit_makes_no_difference() -> None:
    found = inspect.diff((xs.grad(lambda x: layer(x, W).sum()), X), (xs.jit(xs.grad(lambda x: layer(x, W).sum())), X))
    assert set(signs(found)) == {"="}


def test_what_is_called_is_compared_with_what_is_written_in_place() -> None:
    inner = xs.jit(layer)
    found = inspect.diff((lambda x: layer(x, W), X), (lambda x: inner(x, W), X))
    assert told(found, "+") == ["jit"] and signs(found)["="] == 3 and not told(found, "~")


def test_added_and_removed_equations_and_rewired_operands() -> None:
    def more(x: Any, w: Any) -> Any:
        h = jnp.tanh(x @ w)
        return jnp.exp(h) * 2.0

    found = inspect.diff((layer, X, W), (more, X, W))
    assert told(found, "+") == ["exp"] and told(found, "=") == ["dot_general", "tanh"]
    (changed,) = (each for each in found.diff.equations if each.sign == "~")
    assert changed.changed == ("operands",)
    assert told(inspect.diff((more, X, W), (layer, X, W)), "-") == ["exp"]


@pytest.mark.parametrize(
    ("after", "words", "detail"),
    [
        ((layer, X[:4], W), {"shape"}, "f32[8,4] → f32[4,4]"),
        ((layer, X.astype(np.float16), W.astype(np.float16)), {"dtype"}, "f32[8,4] → f16[8,4]"),
        ((lambda x, w: jnp.tanh(x @ w) * 3.0, X, W), {"operands"}, ""),
    ],
)
def test_what_changed_is_said(after: Any, words: set[str], detail: str) -> None:
    changes = [each for each in inspect.diff((layer, X, W), after).diff.equations if each.sign == "~"]
    assert changes and words <= {word for each in changes for word in each.changed}
    assert any(detail in each.detail for each in changes)


def test_changed_parameters_are_told_by_name() -> None:
    found = inspect.diff((lambda x: x.sum(axis=0), X), (lambda x: x.sum(axis=1), X))
    (change,) = found.diff.equations
    assert set(change.changed) == {"parameters", "shape"} and "axes=(0,) → (1,)" in change.detail


def test_one_layer_of_many_is_found_among_its_likes() -> None:
    def deep(n: int) -> Any:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = jnp.tanh(x) * 2.0
            return x

        return f

    found = inspect.diff((deep(12), X), (deep(11), X))
    assert signs(found) == {"=": 22, "-": 2} and sorted(told(found, "-")) == ["mul", "tanh"]


def test_arguments_are_told_apart_by_their_names() -> None:
    found = inspect.diff((lambda a, b: a - b, X, X), (lambda b, a: a - b, X, X))
    assert signs(found) == {"=": 1}
    found = inspect.diff((lambda a, b: a - b, X, X), (lambda a, b: b - a, X, X))
    assert signs(found) == {"~": 1}
    found = inspect.diff((lambda a, b: a - b, X, X), (lambda a, c: a - c, X, X))
    assert signs(found) == {"=": 1}


def test_a_layer_less_leaves_the_others_alike() -> None:
    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w)
        return x.sum()

    weights = [np.ones((16, 16), np.float32)] * 4
    found = inspect.diff((loss, weights, X), (loss, weights[:3], X))
    assert signs(found) == {"=": 6, "-": 2, "~": 1} and told(found, "~") == ["reduce_sum"]
    # Backward equations of all layers look alike: the forward ones that they transpose tell them apart.
    found = inspect.diff((xs.grad(loss), weights, X), (xs.grad(loss), weights[:3], X))
    assert signs(found)["~"] <= 3 and signs(found)["+"] == 0
    for change in found.diff.equations:
        if change.sign in "=~":
            old, new = (
                next(e for e in side[0].jaxpr.walk() if e.path == path)
                for side, path in ((found.diff.before, change.before), (found.diff.after, change.after))
            )
            assert (old.operation, old.role, old.source) == (new.operation, new.role, new.source)


def test_every_equation_appears_once() -> None:
    def step(x: Any) -> Any:
        return xs.lax.scan(lambda c, a: (jnp.sin(c) * a, c), x[0], x)[1].sum()

    found = inspect.diff((xs.grad(step), X), (xs.grad(lambda x: layer(x, W).sum()), X)).diff
    for side, name in ((found.before, "before"), (found.after, "after")):
        paths = [getattr(each, name) for each in found.equations if getattr(each, name) is not None]
        assert sorted(paths) == sorted(e.path for e in side[0].jaxpr.walk())


def test_every_kernel_appears_once() -> None:
    found = inspect.diff((xs.grad(lambda x: layer(x, W).sum()), X), (lambda x: jnp.sort(layer(x, W)), X)).diff
    for side, name in ((found.before, "before"), (found.after, "after")):
        kernels = next(each.kernels for each in side if hasattr(each, "kernels"))
        assert sorted(n for each in found.kernels for n in getattr(each, name)) == sorted(k.name for k in kernels)


def kernel(name: str, *equations: str) -> Any:
    """A kernel of a program, with these equations inside."""
    whole = inspect.fusions(layer, X, W)
    (compiled,) = (each for each in whole.records if hasattr(each, "kernels"))
    return dataclasses.replace(compiled.kernels[0], name=name, equations=equations, kind="loop", opcode="fusion")


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ([("a", "0"), ("b", "1", "2")], [("c", "0", "1", "2")], {"merged": (("a", "b"), ("c",))}),
        ([("a", "0", "1", "2")], [("b", "0"), ("c", "1", "2")], {"split": (("a",), ("b", "c"))}),
        ([("a", "0"), ("b", "1", "2")], [("c", "0", "1"), ("d", "2")], {"regrouped": (("a", "b"), ("c", "d"))}),
        ([("a", "0")], [("a", "0"), ("b", "1", "2")], {"same": (("a",), ("a",)), "appeared": ((), ("b",))}),
        ([("a", "0"), ("b", "2")], [("a", "0")], {"same": (("a",), ("a",)), "vanished": (("b",), ())}),
        ([("a", "0")], [("b", "0", "1")], {"changed": (("a",), ("b",))}),
    ],
)
def test_what_became_of_kernels(before: Any, after: Any, kinds: Any) -> None:
    traced, *_, compiled = inspect.fusions(layer, X, W).records
    old, new = (
        (traced, dataclasses.replace(compiled, kernels=tuple(kernel(*each) for each in side)))
        for side in (before, after)
    )
    assert {each.kind: (each.before, each.after) for each in compare(old, new).kernels} == kinds


def test_records_that_were_never_compiled_are_compared_too() -> None:
    found = compare(inspect.explore(layer, X, W).records, inspect.explore(layer, X[:4], W).records)
    assert found.kernels == () and "kernels" not in found.text()
    with pytest.raises(ValueError, match="nothing to compare: the records of after"):
        compare(inspect.explore(layer, X, W).records, [])


def test_measured_in_turn() -> None:
    big = np.ones((600, 600), np.float32)
    found = inspect.diff((lambda x: x[0] @ x, big), (lambda x: x @ x @ x @ x @ x, big), timings=True)  # 2,000 times
    measured = found.diff.timing
    assert measured is not None and len(measured.before) == len(measured.after) >= 3
    assert measured.ratio > 1.5 and "times as long" in found.text and "in turn" in found.text


def donates(x: Any) -> Any:
    return x + 1.0


def printing(x: Any) -> Any:
    print("printed")
    return x + 1.0


def drawing(x: Any) -> Any:
    xs.debug.print("{}", x.sum())
    return x


def looping(x: Any) -> Any:
    return xs.lax.fori_loop(0, 3, lambda i, c: drawing(c), x)


class Failing:
    """A function whose third call fails, when nothing traces it any more."""

    calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        if self.calls > 2:
            raise ValueError("third call")
        return x + 1.0


SHAPE = xs.ShapeDtypeStruct((8, 16), "float32")
CALLS = {
    "eager": ((layer, X, W), ""),
    "jitted": ((xs.jit(layer), X, W), ""),
    "a NumPy scalar": ((donates, np.float32(2)), ""),
    "a Python number": ((xs.jit(donates), 2.0), ""),
    "other shapes": ((xs.jit(layer), X[:3], W), ""),
    "donated": ((xs.jit(donates, donate_argnums=0), jnp.ones(3)), ""),
    "a key": ((xs.jit(xs.random.normal), xs.random.key(0)), ""),
    "prints": ((printing, X), ""),
    "debug.print": ((xs.jit(drawing), X), "drawing calls Python for its effects (debug_callback)"),
    "in a loop": ((looping, X), "looping calls Python for its effects (debug_callback)"),
    "shapes alone": ((layer, SHAPE, W), "there are shapes and no values among the arguments"),
    "it fails": ((Failing(), X), "a call failed (ValueError: third call)"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_calls_are_measured_unless_something_speaks_against_it(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, why_not = CALLS[kind]
    found = inspect.diff((xs.jit(layer), X, W), call, timings="auto")
    xs.effects_barrier()
    assert "".join(capsys.readouterr()).count("printed") <= 2  # the trace, and the first call
    assert not any(leaf.is_deleted() for leaf in call[1:] if hasattr(leaf, "is_deleted"))
    again = diff_from_json(json.loads(json.dumps(found.to_json())))
    assert again.text() == found.diff.text() == found.text
    if why_not:
        assert found.diff.timing is None and f"not measured: {why_not}" in found.text
    else:
        timing = found.diff.timing
        assert timing is not None and not found.diff.unmeasured and "not measured" not in found.text
        assert min(timing.calls) >= len(timing.before) == len(timing.after) >= 1
        assert f"{timing.calls[0]:,} and {timing.calls[1]:,} calls" in found.text


def test_how_often_slow_calls_are_made_follows_from_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(interleaved_timing, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    made = []

    def taking(seconds: float) -> Any:
        def run() -> None:
            made.append(seconds)
            now[0] += seconds

        return run

    for seconds, calls in {0.001: 0, 0.1: 8, 0.4: 3, 0.7: 2, 1.0: 1, 1.5: 1, 2.4: 1}.items():
        now[0], made[:] = 0.0, []
        timing = interleaved_timing.time_interleaved(taking(seconds), taking(seconds), 5.0)
        assert now[0] <= 5.0 + 1e-9 and timing.calls[0] >= calls, seconds
    made[:] = []
    with pytest.raises(interleaved_timing.TooSlowError, match=r"a call of each takes 6 s"):
        interleaved_timing.time_interleaved(taking(3.0), taking(3.0), 5.0)
    assert made == [3.0, 3.0]


@pytest.mark.parametrize(
    ("before", "after", "within"),
    [
        ([1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.1, 1.0, 0.9, 1.0], [1.1, 1.0, 1.0, 1.0, 1.1, 0.9, 1.0, 1.1, 0.8, 1.1], True),
        ([1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.1, 1.0, 0.9, 1.0], [0.5] * 10, False),
        ([1.0] * 7, [0.5] * 7, True),  # too few to be sure
    ],
)
def test_noise_is_not_taken_for_a_difference(before: list[float], after: list[float], within: bool) -> None:
    assert compare_timings(before, after, "made up").within_noise is within


def test_equal_programs_seldom_seem_to_differ() -> None:
    draw = random.Random(0)
    wrong = 0
    for _ in range(400):
        a, b = ([draw.lognormvariate(0, 0.2) for _ in range(24)] for _ in range(2))
        wrong += not compare_timings(a, b, "made up").within_noise
    assert wrong <= 12  # 4 are expected


def test_a_jitted_call_is_timed_as_its_user_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """From C++ and not by Python code that takes longer than short programs."""
    function = xs.jit(lambda x: jnp.sin(x) * 2)
    x = jnp.arange(1000.0)
    for _ in range(4):
        function(x).block_until_ready()
    called: list[Any] = []
    monkeypatch.setattr(Executable, "__call__", called.append)
    timing = inspect.diff((function, x), (function, x), timings=True).diff.timing
    assert timing is not None and min(timing.calls) > 8 and not called


def test_keywords_and_labels() -> None:
    def scaled(x: Any, by: float = 1.0) -> Any:
        return x * by

    found = inspect.diff(
        inspect.call(scaled, X), inspect.call(scaled, X, by=3.0), labels=("scaled(x)", "scaled(x, by=3)")
    )
    assert str(found).startswith("scaled(x)  →  scaled(x, by=3)")


@pytest.mark.parametrize("wrong", [layer, (), (X, layer), "f"])
def test_what_is_no_call_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"a call is a tuple .* Example: inspect\.diff\("):
        inspect.diff(wrong, (layer, X, W))


def test_json_holds_both_programs_and_their_alignment() -> None:
    found = inspect.diff((layer, X, W), (layer, X[:4], W))
    data = json.loads(json.dumps(found.to_json()))
    assert data["xlascope_diff"] == 1 and {"Traced", "Compiled"} <= {each["kind"] for each in data["after"]}
    assert [each["sign"] for each in data["equations"]] == [each.sign for each in found.diff.equations]
