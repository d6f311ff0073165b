"""What compilers say of their decisions, asked of real compilations: the CPU's always, others' with their extra."""

import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.analysis.verdicts import replay_decisions
from xlascope.inspect.jobs import Cancelled
from xlascope.inspect.producers import program_of
from xlascope.readers.dumps import read_fusion_dump
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.records import Compiled, Explained, FusionDecision, Passes, Traced
from xlascope.xla.explain import UnknownStageError, explain_fusion
from xlascope.xla.explain.dump_session import compile_with_dumps
from xlascope.xla.targets import find_target
from xlascope_widgets import wire_compiler

needs_compilers = pytest.mark.usefixtures("target_compilers")
X = np.linspace(0.0, 1.0, 64 * 32, dtype=np.float32).reshape(64, 32)
W = np.linspace(-1.0, 1.0, 32 * 16, dtype=np.float32).reshape(32, 16)


def layer(x: Any, w: Any) -> Any:
    """An expensive producer with two users, which are too far apart to be one kernel."""
    y = jnp.tanh(x @ w)
    return (y - jnp.sum(y)) * 2.0


def path_of(answer: inspect.Inspection, operation: str) -> str:
    traced = next(each for each in answer.records if isinstance(each, Traced))
    return next(each.path for each in traced.jaxpr.walk() if each.operation == operation)


def asked(function: Callable[..., Any], *args: Any, first: str, second: str, target: str) -> Explained:
    """What is said of the edge between the first equations of two operations."""
    shown = inspect.explore(function, *args)
    edge = path_of(shown, first), path_of(shown, second)
    answer = inspect.why(function, *args, edge=edge, target=target, budget=120.0)
    explained = next(each for each in answer.records if isinstance(each, Explained))
    assert explained.answer in answer.text
    assert explained.complete
    assert explained.target.startswith(target)
    return explained


def deciding(explained: Explained) -> Any:
    return explained.decisions[explained.about[-1]]


def test_a_program_that_calls_lapack_is_explained() -> None:
    answer = inspect.why(lambda x: jnp.linalg.cholesky(x @ x.T).sum(), jnp.eye(20), budget=120.0)
    assert "not fused" in str(answer)


def test_why_not_on_the_cpu() -> None:
    found = asked(layer, X, W, first="dot_general", second="tanh", target="cpu")
    assert found.outcome == "refused"
    assert deciding(found).reason == "operand can not be duplicated"
    assert deciding(found).pass_name == "InstructionFusion"
    assert deciding(found).plain in found.answer
    found = asked(layer, X, W, first="sub", second="mul", target="cpu")
    assert found.outcome == "fused"
    assert "put sub" in found.answer


@needs_compilers
def test_why_not_on_a_gpu() -> None:
    found = asked(layer, X, W, first="dot_general", second="reduce_sum", target="gpu:h100")
    assert found.outcome == "refused"
    assert deciding(found).pass_name == "PriorityFusion"
    assert deciding(found).reason == "the producer is not fusible"
    found = asked(layer, X, W, first="sub", second="mul", target="gpu:h100")
    assert found.outcome == "fused"
    assert 0 < deciding(found).fused_seconds < deciding(found).unfused_seconds < 1e-3
    assert "XLA's estimate" in found.answer


def chain(x: Any) -> Any:
    return jnp.tanh(jnp.sin(x) * 2.0 + 1.0)


def shared(x: Any) -> Any:
    y = jnp.exp(x) * 0.5
    return y * x, y + x


def siblings(x: Any) -> Any:
    return jnp.sum(x * x, axis=1), jnp.max(x, axis=1)


def kept(x: Any) -> Any:
    y = jnp.exp(x) * 2.0
    return y, jnp.sum(y, axis=1)


def slower(x: Any) -> Any:
    """A costly computation with two users, each of which would have to do all of it again."""
    y = jnp.tanh(jnp.exp(jnp.sin(x)))
    return jnp.sum(y, 1), jnp.sum(y, 0), y


@needs_compilers
@pytest.mark.parametrize(
    ("function", "several"),
    [
        pytest.param(chain, 0, marks=pytest.mark.slow),
        pytest.param(shared, 1, marks=pytest.mark.slow),
        (siblings, 1),
        pytest.param(kept, 1, marks=pytest.mark.slow),
    ],
)
def test_the_mechanisms_of_the_page(function: Any, several: int) -> None:
    """What docs/fusion.md says does the job on a GPU; its blocks for GPUs are shown and not run."""
    explained = cast(Explained, inspect.why(function, np.ones((512, 512), np.float32), target="gpu:h100").records[-1])
    done = [each.pass_name for each in explained.decisions if each.action == "fused"]
    assert done.count("MultiOutputFusion") == several
    assert "PriorityFusion" in done
    assert set(done) <= {"MultiOutputFusion", "PriorityFusion"}


@needs_compilers
def test_a_gpu_says_when_fusing_costs_more() -> None:
    answer = inspect.why(slower, np.ones((2048, 2048), np.float32), target="gpu:h100", budget=120.0)
    explained = cast(Explained, answer.records[-1])
    costly = [each for each in explained.decisions if each.reason == "will execute slower if fused"]
    assert costly
    assert "cost model" in costly[0].plain
    assert 'XLA\'s words: "will execute slower if fused"' in answer.text


@needs_compilers
def test_why_not_on_a_tpu() -> None:
    found = asked(layer, X, W, first="dot_general", second="tanh", target="tpu:v5e:2x2")
    assert found.outcome == "fused"
    refusals = [each for each in found.decisions if each.action == "refused"]
    assert "operand can not be duplicated" in {each.reason for each in refusals}
    assert all(each.plain for each in refusals)


def test_decisions_lead_to_the_kernels_that_come_out() -> None:
    """A replay of the decisions ends with the fusions of the optimized HLO."""
    explained, hlo = explain_fusion(program_of(layer, (X, W)).input_for(find_target("cpu")))
    groups: dict[str, set[str]] = {}
    for decision, producer, consumer in replay_decisions(explained.decisions):
        if decision.action == "fused":
            groups[decision.result] = producer | consumer
    kernels = {each.name: each for each in read_kernels(hlo)}
    assert groups
    for name, inside in groups.items():
        assert kernels[name].instructions == len([each for each in inside if not each.startswith("constant")])


def test_not_comparable_where_the_program_that_ran_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    @xs.jit
    def f(x: Any) -> Any:
        return jnp.sin(x) * 2.0

    f(X)
    same = cast(Explained, inspect.why(f, X, edge=("0", "1")).records[-1])
    assert same.outcome == "fused"
    why = sys.modules["xlascope.inspect.compiler.why"]
    apart = """ENTRY %e (x: f32[4]) -> f32[4] {
      %x = f32[4] parameter(0)
      ROOT %s = f32[4] sine(%x), metadata={op_name="jit(f)/e0/sin"}
    }""".replace("    }", "}")
    original = cast(Any, why).explain_fusion
    monkeypatch.setattr(why, "explain_fusion", lambda *args, **kwargs: (original(*args, **kwargs)[0], apart))
    other = cast(Explained, inspect.why(f, X, edge=("0", "1")).records[-1])
    assert other.outcome == "different"
    assert "Not comparable" in other.answer


def test_the_budget_ends_it() -> None:
    answer = inspect.why(layer, X, W, budget=0.05)
    explained = cast(Explained, answer.records[-1])
    assert not explained.complete
    assert "budget of 0.05 s" in explained.note
    assert "partial" in answer.text
    late = cast(Explained, inspect.why(layer, X, W, budget=1e-3, edge=("0", "1")).records[-1])
    assert (late.outcome, "budget" in late.answer) == ("", True)


def test_it_can_be_cancelled() -> None:
    job = inspect.why(layer, X, W, background=True)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(timeout=30)


def test_nothing_of_it_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    f = xs.jit(layer)
    compiled = inspect.fusions(f, X, W).records[-1]
    inspect.why(f, X, W)
    assert list(tmp_path.iterdir()) == []
    again = inspect.fusions(f, X, W).records[-1]
    assert cast(Compiled, again).module == cast(Compiled, compiled).module  # the program that runs is the same


def test_it_knows_no_cache(tmp_path: Path) -> None:
    f = xs.jit(lambda x, w: layer(x, w) + 1.0)  # nobody has compiled it before
    xs.config.update("compilation_cache_dir", str(tmp_path))
    try:
        inspect.fusions(f, X, W)
        kept = sorted(tmp_path.rglob("*"))
        assert kept
        assert cast(Explained, inspect.why(f, X, W).records[-1]).decisions  # a hit would tell nothing
        assert sorted(tmp_path.rglob("*")) == kept
    finally:
        xs.config.update("compilation_cache_dir", None)


def test_a_program_that_calls_python() -> None:
    def shown(x: Any) -> Any:
        xs.debug.print("{}", x)
        return jnp.sin(x) * 2.0

    assert cast(Explained, inspect.why(shown, X, edge=("1", "2")).records[-1]).outcome == "fused"


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("0", "77"), "no equation '77' in layer"),
        (("0", "0"), "the same equation twice"),
        ("01", "two paths"),
        (("0",), "two paths"),
        ((0, 1), "two paths"),
    ],
)
def test_an_edge_that_is_none(edge: Any, message: str) -> None:

    with pytest.raises(ValueError, match=message):
        inspect.why(layer, X, W, edge=edge)


def test_edges_inside_of_a_loop() -> None:
    def loop(x: Any, ws: Any) -> Any:
        return xs.lax.scan(lambda c, w: (jnp.tanh(c @ w) * 2.0, jnp.sum(c)), x, ws)

    x, ws = np.ones((8, 8), np.float32), np.ones((5, 8, 8), np.float32)
    found = cast(Explained, inspect.why(loop, x, ws, edge=("0/1", "0/2")).records[-1])
    assert found.outcome == "fused"
    with pytest.raises(inspect.QuestionError, match="equation '0' holds equation '0/1'"):
        inspect.why(loop, x, ws, edge=("0/1", "0"))


# Pass by pass.


def test_which_pass_removed_it() -> None:
    def repeated(x: Any) -> Any:
        return jnp.sin(x) + jnp.sign(jnp.cos(x) - jnp.cos(x)) * 0.0 + jnp.tanh(x).astype(int) * 0

    found = inspect.passes(repeated, X)
    merged = [one for _, one in found.removed("cos") if one is not None]
    assert [(each.name, each.removed > 0) for each in merged] == [("cse", True)]
    assert [one for _, one in found.removed("tanh")] == [None]  # XLA drops it before its passes begin
    assert found.removed("sin") == ()
    with pytest.raises(ValueError, match=r"no equation of the program is 'tan'; its operations are .*cos"):
        found.removed("tan")


def test_passes_count_what_changed() -> None:
    found = inspect.passes(layer, X, W)
    record = cast(Passes, found.records[-1])
    assert record.complete
    names = [each.name for each in found.passes]
    assert "fusion" in names
    steps = [each.step for each in found.passes]
    assert steps == sorted(steps)
    for before, after in zip(found.passes, found.passes[1:], strict=False):
        assert after.instructions == before.instructions + after.added - after.removed
    assert all(line[:1] in "+-…" for each in found.passes for line in each.diff.splitlines())
    assert "fusion" in found.text


# Machine code.


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        ("stablehlo", "stablehlo.tanh"),
        ("hlo", "HloModule jit_layer"),
        ("optimized", "is_scheduled=true"),
        ("llvm", "define "),
        pytest.param("asm", "Disassembly", marks=pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")),
    ],
)
def test_stages_on_the_cpu(stage: str, says: str) -> None:
    text = inspect.hlo(layer, X, W, stage=stage).text
    assert says in text
    assert tempfile.gettempdir() not in text.replace(str(Path(__file__).parent), "")  # the folder of XLA's dumps


def test_from_an_equation_to_its_code() -> None:
    optimized = inspect.hlo(layer, X, W, equation="4").text  # the product with 2
    assert optimized.count("==== ") == 1
    assert "multiply(" in optimized
    assert "fusion(" in optimized
    assert "tanh(" not in optimized
    name = optimized.split()[1]
    code = inspect.hlo(layer, X, W, stage="llvm", kernel=name).text
    assert code == inspect.hlo(layer, X, W, stage="llvm", equation="4").text
    assert "fmul" in code
    assert "tanh" not in code
    with pytest.raises(inspect.QuestionError, match=f"no kernel nobody at the stage llvm: the kernels are .*{name}"):
        inspect.hlo(layer, X, W, stage="llvm", kernel="nobody")
    with pytest.raises(inspect.QuestionError, match="equation '99' is in no kernel"):
        inspect.hlo(layer, X, W, equation="99")
    with pytest.raises(inspect.QuestionError, match="the stage stablehlo has no kernels yet"):
        inspect.hlo(layer, X, W, stage="stablehlo", equation="4")


@pytest.mark.slow
@needs_compilers
def test_stages_on_a_gpu() -> None:
    assert ".visible .entry" in inspect.hlo(layer, X, W, stage="ptx", target="gpu:h100").text
    assert "define " in inspect.hlo(layer, X, W, stage="llvm", target="gpu:h100").text


@pytest.mark.parametrize(("target", "stage"), [("cpu", "ptx"), ("cpu", "sass"), ("tpu:v5e", "llvm"), ("gpu:l4", "asm")])
def test_a_stage_that_a_target_lacks(target: str, stage: str) -> None:
    with pytest.raises(UnknownStageError, match="stablehlo, hlo, optimized"):
        inspect.hlo(layer, X, W, target=target, stage=stage)


# The log against the dumps, which take too long to be asked for.


def training_step(parameters: Any, x: Any, y: Any) -> Any:
    def loss(parameters: Any) -> Any:
        activations = x
        for w, b in parameters[:-1]:
            activations = jnp.tanh(activations @ w + b)
        w, b = parameters[-1]
        return -jnp.mean(jnp.sum(xs.nn.log_softmax(activations @ w + b) * y, axis=-1))

    return xs.tree_util.tree_map(lambda p, g: p - 0.1 * g, parameters, xs.grad(loss)(parameters))


def pairs(decisions: Iterable[FusionDecision], action: str) -> set[tuple[str, str]]:
    """Constants are left out: a GPU's pass fuses them in the end, and writes no frames of that."""
    return {
        (each.producer, each.consumer)
        for each in decisions
        if each.action == action and each.pass_name != "MultiOutputFusion" and not each.producer.startswith("constant")
    }


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "gpu:h100", "tpu:v5e:2x2"])
@needs_compilers
def test_the_log_says_what_the_dump_says(target: str) -> None:
    sizes = itertools.pairwise((64, 256, 128, 10))
    parameters = [(np.ones((m, n), np.float32), np.ones(n, np.float32)) for m, n in sizes]
    step = (parameters, np.ones((256, 64), np.float32), np.ones((256, 10), np.float32))
    subject = program_of(training_step, step).input_for(find_target(target))
    with compile_with_dumps(subject, 300.0, overrides=[("xla_dump_fusion_visualization", True)]) as session:
        files = [*session.folder.glob("*_fusion.html"), *session.folder.glob("*_fusion.pyz")]
        dumped = [each for file in files for each in read_fusion_dump(file).decisions]
    explained, _ = explain_fusion(subject, budget=300.0)
    told, heard = pairs(dumped, "fused"), pairs(explained.decisions, "fused")
    assert len(told) > 20
    assert heard <= told
    # A TPU's pass refuses a pair, tries it with several results, and does not log that it worked.
    assert told - heard <= pairs(explained.decisions, "refused")
    assert target.startswith("tpu") or told == heard


# The size of real programs.


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "gpu:h100", "tpu:v5e:2x2"])
@needs_compilers
def test_twelve_transformer_blocks(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3]))
    transformer = __import__("bench.transformer", fromlist=["transformer"])
    gradient = transformer.make_gradient(SimpleNamespace(xs=xs, jnp=jnp))
    args = transformer.weights_and_tokens()
    began = time.perf_counter()
    answer = inspect.why(gradient, *args, edge=("79", "80"), target=target, budget=120.0)
    seconds = time.perf_counter() - began
    explained = cast(Explained, answer.records[-1])
    assert explained.complete
    assert explained.outcome
    assert len(explained.decisions) > 1_000
    assert (
        len(json.dumps(wire_compiler.encode_explained(explained), separators=(",", ":"))) < 500_000
    )  # what a replay is made of
    assert seconds < 60  # 2 to 6 s where nothing else runs
