"""Questions about a program that was not traced here: StableHLO, with or without the record of its trace.

The asking process has no function and never starts the engine. Its answers are the engine's own, times apart.
"""

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

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.inspect import Host, Program, QuestionError
from xlascope.inspect.engine.producer import EngineProducer
from xlascope.inspect.producers import Query, find_program, program_of
from xlascope.xla.mlir.stablehlo_reader import StableHLOError
from xlascope.xla.targets import find_target

X = np.linspace(0.0, 1.0, 64 * 32, dtype=np.float32).reshape(64, 32)
W = np.linspace(-1.0, 1.0, 32 * 16, dtype=np.float32).reshape(32, 16)


def layer(x: Any, w: Any, unused: Any) -> Any:
    """A product, what cannot be fused into it, and a call."""
    y = jnp.tanh(x @ w)
    return xs.jit(lambda y: (y - jnp.sum(y)) * 2.0)(y)


ARGUMENTS = (X, W, X)

#: Each question as it is asked of a program, with the CPU's compiler or with others'.
HERE = {
    "why": "inspect.why(program)",
    "why an edge": "inspect.why(program, edge=('0', '1'))",
    "why a fused edge": "inspect.why(program, edge=('2/1', '2/2'))",
    "passes": "inspect.passes(program)",
    "removed": "inspect.passes(program).removed('sub')",
    "fusions": "inspect.fusions(program)",
    "memory": "inspect.memory(program)",
    "target cpu": "inspect.target(program, target='cpu')",
    "in the background": "inspect.target(program, target='cpu', background=True).result(60)",
    "diff": "inspect.diff(program, program)",
    **{stage: f"inspect.hlo(program, stage={stage!r})" for stage in ("stablehlo", "hlo", "optimized", "llvm", "asm")},
    "an equation's code": "inspect.hlo(program, stage='llvm', equation='2/2')",
}
ELSEWHERE = {
    "target": "inspect.target(program, target='gpu:h100')",
    "targets": "inspect.targets(program, targets=['cpu', 'tpu:v5e', 'gpu:h100'])",
    "why on a GPU": "inspect.why(program, edge=('0', '1'), target='gpu:h100')",
    "ptx": "inspect.hlo(program, stage='ptx', target='gpu:h100')",
}
#: Those whose answers tell of equations, asked of names alone; a diff counts the work of equations as well.
BY_NAMES = {
    each: HERE[each]
    for each in (
        "why",
        "why an edge",
        "passes",
        "removed",
        "fusions",
        "memory",
        "target cpu",
        "stablehlo",
        "hlo",
        "asm",
    )
}
#: What only the record of a trace can answer, and what nothing but a call can.
OF_A_TRACE = {"explore": "inspect.explore(program)", "jaxpr": "inspect.jaxpr(program)"}
OF_A_CALL = {
    "timings": "inspect.timings(program)",
    "what if": "inspect.what_if(program, change={'split': ('0', '1')})",
}

ASK = """
import json, sys
from pathlib import Path
from xlascope import inspect, records
folder, known, *questions = sys.argv[1:]
given = Path(folder, "program.mlir").read_bytes()
if known == "traced":
    given = inspect.Source(given, kept=(True, True, False))
    traced = records.load(Path(folder, "traced.json"))[0]
    program = inspect.Program(given, traced)
else:
    program = inspect.Program(given.decode())
for question in questions:
    try:
        answer = str(eval(question))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps(answer))
booted = {"xlascope.runtime.boot", "xlascope.control.jit", "jax"} & sys.modules.keys()
assert not booted, booted
"""


def asked_elsewhere(folder: Path, known: str, questions: dict[str, str]) -> dict[str, str]:
    """The answers of a process that has the program's files and nothing else."""
    command = [sys.executable, "-c", ASK, str(folder), known, *questions.values()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return dict(zip(questions, map(json.loads, done.stdout.splitlines()), strict=True))


def untimed(text: str) -> str:
    """Without durations, numbers of modules, this file's folder, and the spaces that depend on them."""
    text = re.sub(r"\d[\d.]* ?(?:s|ms|µs|ns)\b", "T", text)
    text = re.sub(r"(layer)[._]\d+", r"\1.N", text)
    text = re.sub(r"(module_)\d+|(jit_layer\.)\d+", "module", text)
    return re.sub(r"[ \t]+", " ", text.replace(f"{Path(__file__).parent}/", ""))


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(layer, ARGUMENTS)


@pytest.fixture(scope="module")
def folder(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program")
    text = str(inspect.hlo(program, stage="stablehlo"))
    (made / "program.mlir").write_text(text)
    records.save([program.record], made / "traced.json")
    return made


@pytest.fixture(scope="module")
def with_record(folder: Path) -> dict[str, str]:
    return asked_elsewhere(folder, "traced", HERE | OF_A_TRACE | OF_A_CALL)


@pytest.fixture(scope="module")
def by_names(folder: Path) -> dict[str, str]:
    return asked_elsewhere(folder, "named", BY_NAMES | OF_A_TRACE | OF_A_CALL)


@pytest.mark.parametrize("question", [*HERE, *OF_A_TRACE])
def test_the_answer_is_the_engines(question: str, program: Program, with_record: dict[str, str]) -> None:
    own = str(eval((HERE | OF_A_TRACE)[question], {"inspect": inspect, "program": program}))
    assert untimed(with_record[question]) == untimed(own)


@pytest.mark.usefixtures("target_compilers")
def test_so_are_those_of_other_compilers(folder: Path, program: Program) -> None:
    answers = asked_elsewhere(folder, "traced", ELSEWHERE)
    for question, asked in ELSEWHERE.items():
        own = str(eval(asked, {"inspect": inspect, "program": program}))
        assert untimed(answers[question]) == untimed(own)


@pytest.mark.parametrize("question", BY_NAMES)
def test_names_alone_tell_the_equations(question: str, with_record: dict[str, str], by_names: dict[str, str]) -> None:
    """What names do not tell is what the user calls the arguments, and the text of the file."""
    named, known = untimed(by_names[question]), untimed(with_record[question])
    assert re.sub(r"^argument \d ", "", named, flags=re.M) == re.sub(r"^[xw] (?=\d)", "", known, flags=re.M)


@pytest.mark.parametrize("question", [*OF_A_TRACE, *OF_A_CALL])
def test_what_is_missing_is_said(question: str, with_record: dict[str, str], by_names: dict[str, str]) -> None:
    for answers in (by_names, *([with_record] if question in OF_A_CALL else [])):
        assert re.match(r"QuestionError|ChangeError", answers[question])
        assert "StableHLO is known" in answers[question] and "\n" not in answers[question]


# Programs of jax, watched from a process of its own.

JAX = """
import io, sys
from pathlib import Path
import jax, jax.numpy as jnp
from jax import export
def layer(x):
    return jnp.tanh(x @ x) + jax.nn.relu(x)
lowered = jax.jit(layer).lower(jnp.ones((64, 64)))
module, code = lowered.compiler_ir(), io.BytesIO()
module.operation.write_bytecode(code)
Path("bytecode").write_bytes(code.getvalue())
Path("text").write_text(module.operation.get_asm(enable_debug_info=True))
Path("portable").write_bytes(export.export(jax.jit(layer))(jnp.ones((64, 64))).mlir_module_serialized)
"""
#: jax names operations by scopes and primitives; this stands for a watcher that writes the equation's path there.
NAMED = {"jit(layer)/dot_general": "jit(layer)/e0/dot_general", "jit(layer)/tanh": "jit(layer)/e1/tanh"}


@pytest.fixture(scope="module")
def of_jax(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("jax")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", JAX], cwd=made, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("form", ["bytecode", "text", "portable"])
def test_a_program_of_jax_is_answered_about_its_kernels(form: str, of_jax: Path) -> None:
    program = Program((of_jax / form).read_bytes())
    assert program.record.function == "layer"
    told = str(inspect.fusions(program))
    assert told.startswith("layer: equations unknown, compiled in") and "no source information" in told
    assert "(a) argument 0" not in str(inspect.memory(program))
    assert "InstructionFusion" in str(inspect.why(program))
    assert "tanh" in str(inspect.hlo(program, stage="optimized"))
    with pytest.raises(QuestionError, match="there is no equation '0' in layer"):
        inspect.why(program, edge=("0", "1"))
    with pytest.raises(QuestionError, match="equations of layer are unknown"):
        inspect.passes(program).removed("tanh")


def test_nobody_counts_what_names_do_not_tell(of_jax: Path, program: Program) -> None:
    """A comparison once said "work 0 FLOP" of a product of matrices."""
    text = (of_jax / "text").read_text()
    for name, path in NAMED.items():
        text = text.replace(f'"{name}"', f'"{path}"')
    untold, named = Program((of_jax / "text").read_bytes()), Program(text)
    numbers = {each.name: each for each in inspect.diff(untold, named).diff.numbers}
    assert "work" not in numbers and (numbers["equations"].before, numbers["equations"].after) == (None, 2.0)
    numbers = {each.name: each for each in inspect.diff(named, program).diff.numbers}
    assert numbers["work"].before is None and numbers["work"].after
    assert numbers["kernels"].before


def test_a_program_of_jax_with_paths_in_its_names(of_jax: Path) -> None:
    text = (of_jax / "text").read_text()
    for name, path in NAMED.items():
        text = text.replace(f'"{name}"', f'"{path}"')
    program = Program(text)
    assert [(each.path, each.operation) for each in program.record.jaxpr.walk()] == [
        ("0", "dot_general"),
        ("1", "tanh"),
    ]
    assert "dot_general (0, line 7) and tanh (1, line 7) in layer" in str(inspect.why(program, edge=("0", "1")))


IN_ITS_PROCESS = """
import sys
{first}
{second}
import jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x) * 2.0)
x = jnp.ones((64, 64))
program = inspect.Program(f.lower(x).as_text(debug_info=True))
print(inspect.fusions(program))
print(inspect.why(program))
print(inspect.hlo(program, stage="stablehlo"))
assert f(x).shape == (64, 64) and jax.grad(lambda x: f(x).sum())(x).shape == (64, 64)
assert "xlascope.runtime.boot" not in sys.modules
"""


@pytest.mark.parametrize(
    "order", [("import jax", "from xlascope import inspect"), ("from xlascope import inspect", "import jax")]
)
def test_jax_and_questions_in_one_process(
    order: tuple[str, str], fresh_python: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    told = fresh_python(IN_ITS_PROCESS.format(first=order[0], second=order[1]))
    assert "equations unknown, compiled in" in told and "InstructionFusion" in told and "stablehlo.tanh" in told


# What is no program.

EMPTY = "module {}"
GARBAGE: dict[str, tuple[Any, str]] = {
    "HLO": ("HloModule f\n", "line 1, column 1: custom op 'HloModule' is unknown"),
    "an unknown operation": ("func.func @main() { stablehlo.foo }", "custom op 'stablehlo.foo' is unknown"),
    "nothing": ("", "has no function 'main'"),
    "no function": (EMPTY, "has no function 'main'"),
    "a declaration": ("func.func private @main()", "has no function 'main' with a body"),
    "bytes": (b"\x00\xff\xfe\n\n", "no StableHLO"),
    "damaged bytecode": (b"ML\xefR\x01\x02\x03 broken", "no StableHLO"),
    "a number": (3, "bytes or text"),
    "None": (None, "bytes or text"),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_is_no_stablehlo_is_one_line(kind: str) -> None:
    given, words = GARBAGE[kind]
    with pytest.raises(StableHLOError, match=r"^this is no ") as told:
        Program(given)
    assert words in str(told.value) and "\n" not in str(told.value)


def test_bytecode_cut_short_is_an_error(program: Program) -> None:
    code = program.input_for(find_target("cpu")).module
    for size in range(4, len(code), max(1, len(code) // 40)):
        with pytest.raises(StableHLOError):
            Program(code[:size])


def test_a_program_takes_no_arguments(program: Program) -> None:
    with pytest.raises(TypeError, match=r"Example: inspect\.why\(program\)"):
        inspect.why(program, X)


# Who makes programs.


class Another(Host):
    """A process that has run its program, fused otherwise than it would be here."""

    def running(self) -> str:
        return """ENTRY %e (x: f32[4]) -> f32[4] {
  %x = f32[4] parameter(0)
  ROOT %s = f32[4] tanh(%x), metadata={op_name="jit(f)/e1/tanh"}
}"""


class Producer:
    """A second producer of programs: it has one, and traces nothing but what is called ``theirs``."""

    def __init__(self, program: Program) -> None:
        self.known = program

    def program(self, asked: Query) -> Program | None:
        return self.known if asked.function.__name__ == "theirs" else None

    def find(self, number: int) -> Program | None:
        return self.known if number == self.known.record.program else None


def test_a_second_producer_is_asked_first(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def theirs(x: Any) -> Any:
        raise AssertionError("it is not traced here")

    text = str(inspect.hlo(program, stage="stablehlo"))
    known = Program(text, number=10**9, host=Another())
    undo = inspect.register_producer(Producer(known))
    try:
        assert program_of(theirs, (X,)) is known
        assert find_program(10**9) is known
        assert find_program(program.record.program) is not None  # our engine's are found as before
        assert inspect.explore(layer, *ARGUMENTS).text == program.record.text
        monkeypatch.setattr(EngineProducer, "find", lambda self, number: None)
        assert find_program(program.record.program) is None
    finally:
        undo()
    assert find_program(10**9) is None


def test_not_comparable_with_what_its_own_process_runs(program: Program) -> None:
    known = Program(str(inspect.hlo(program, stage="stablehlo")), host=Another())
    assert "Not comparable" in str(inspect.why(known, edge=("1", "2/1")))


def test_a_program_that_calls_python() -> None:
    def calling(x: Any) -> Any:
        return xs.pure_callback(np.sin, xs.ShapeDtypeStruct(x.shape, x.dtype), x) + 1.0

    text = str(inspect.hlo(calling, X, stage="stablehlo"))
    told: Callable[[Any], str] = lambda found: untimed(str(found))  # noqa: E731
    assert told(inspect.fusions(Program(text))) == told(inspect.fusions(calling, X))
