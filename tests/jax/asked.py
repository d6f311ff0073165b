"""Questions about functions of jax, and what is left behind, in a process of its own: prints rows as JSON."""

import json
import logging
import sys
import tempfile
from functools import partial
from types import SimpleNamespace

import xlascope_jax
from xlascope import inspect, records
from xlascope.inspect.running.profile_sampler import Sampler
from xlascope.runtime import jax_coexistence
from xlascope_ipython.answers import Answers

WHAT = sys.argv[1]
STEP = """
import jax, jax.numpy as jnp

@jax.jit
def step(p, x):
    def loss(p):
        return jnp.tanh(jax.nn.relu(x @ p["w"])).sum()
    return jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p))

p, x = {"w": jnp.ones((64, 64))}, jnp.ones((200, 64))
"""


def of(kind, found):
    return [each for each in found if isinstance(each, kind)]


def attributed(compiled):
    return sorted({path for kernel in compiled.kernels for path in kernel.equations})


def for_our_engine():
    """List what is in this process so that our engine can compute in it: modules, methods of jaxlib's, patches."""
    from jaxlib import _jax

    modules = {
        "xlascope.runtime.boot",
        "xlascope.xla.devices.array_patching",
        "xlascope.xla.devices.jaxlib_types",
    } & sys.modules.keys()
    methods = [
        f"{kind.__name__}.{name}"
        for kind in (_jax.ArrayImpl, _jax.SingleDeviceSharding, _jax.PjitFunction)
        for name, member in vars(kind).items()
        if str(getattr(getattr(member, "fget", member), "__module__", "")).startswith("xlascope")
    ]
    return [*sorted(modules), *methods, *jax_coexistence._set_attribute, *(jax_coexistence._callbacks.keys() - {"jax"})]


def notebook():
    """A notebook in which programs of jax are watched and asked about."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "xlascope")
    cells = ["import xlascope, xlascope.numpy", STEP, "for _ in range(20): p = step(p, x)"]
    magics = ("explore", "fusions --why", "timings", "memory", "passes", "doctor", "whatif --keep auto")
    cells += [f"%{name} step(p, x) {options}" for name, _, options in (each.partition(" ") for each in magics)]
    failed = [cell for cell in cells if not shell.run_cell(cell).success]
    return {"failed": failed, "for our engine": for_our_engine()}


class Model:
    """Object with a jitted method."""

    def __init__(self, jax, jnp):
        self.sine = jnp.sin
        type(self).step = jax.jit(type(self).step, static_argnums=0)

    def step(self, x):
        return self.sine(x)


def questions():
    import jax
    import jax.numpy as jnp
    import numpy

    original = places(jax)
    plain = lambda x: jnp.sin(x) * 2.0 + 1.0  # noqa: E731
    rounded = jax.jit(lambda x: x * 2)
    undo, again = xlascope_jax.install(), xlascope_jax.install()
    names = {"__name__": "user", "jax": jax, "jnp": jnp}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(STEP)
        file.flush()
        exec(compile(STEP, file.name, "exec"), names)
        step, p, x = names["step"], names["p"], names["x"]
        explored = inspect.explore(step, p, x)
        timed = inspect.timings(step, p, x)
    (traced,), (compiled,) = of(records.Traced, explored.records), of(records.Compiled, timed.records)
    (executed,) = of(records.Executed, timed.records)
    found = inspect.find_program(traced.program)

    def changed(**change):
        return inspect.what_if(step, p, x, change=change, timings=False).diff

    rows = {
        "function": traced.function,
        "labels": [variable.label for variable in traced.jaxpr.variables.values() if variable.label],
        "lines": sorted({each.source.line for each in traced.jaxpr.walk()}),
        "roles": sorted({each.role for each in traced.jaxpr.walk()}),
        "work": sum(each.flops for each in traced.jaxpr.equations if each.operation == "dot_general"),
        "held": [each.path for each in traced.jaxpr.walk() if each.operation == "max"],
        "equations": attributed(compiled),
        "whole calls": executed.observed_calls > 0 and executed.clock == "host",
        "memory": "p['w']" in str(inspect.memory(step, p, x)),
        "why": "InstructionFusion" in str(inspect.why(step, p, x)),
        "passes": "passes changed" in str(inspect.passes(step, p, x)),
        "doctor": str(inspect.doctor(step, p, x)).splitlines()[0],
        "of a number": [found.record.function, attributed(of(records.Compiled, inspect.fusions(found).records)[0])],
        "no call": refused(lambda: inspect.timings(found)),
        "plain": inspect.explore(lambda x: jnp.sin(x) * 2.0, x).records[0].jaxpr.equations[0].operation,
        "eager": [inspect.timings(plain, x).eager.operations, inspect.timings(step, p, x).eager],
        "bound": [inspect.timings(each).eager for each in (partial(step, p, x), partial(Model(jax, jnp).step, x))],
        "text": inspect.explore(lambda x, name: getattr(jnp, name)(x), x, "sin")
        .records[0]
        .jaxpr.equations[0]
        .operation,
        "cannot": inspect.timings(lambda x: x if x.sum() > 0 else -x, x).eager.cannot_jit.partition(":")[0],
        "narrowed": [each.rule for each in inspect.doctor(rounded, numpy.linspace(0, 1, 500)).diagnosis.findings],
        "shapes": inspect.explore(step, p, jax.ShapeDtypeStruct((8, 64), "float32")).records[0].function,
        "options": changed(options={"xla_cpu_enable_fast_math": True}) is not None,
        "donate": refused(lambda: changed(donate="q")),
        "donated": str(inspect.what_if(step, p, x, change={"donate": "p"})).splitlines()[0],
        "dtype": any("bf16" in str(each) for each in changed(dtype="bfloat16").equations),
        "split": refused(lambda: changed(split=("0", "1"))),
        "raises": refused(lambda: inspect.explore(step, p)),
        "for our engine": for_our_engine(),
    }
    again()
    rows["in place"] = places(jax) != original
    undo(), undo()
    return rows | {"left": places(jax) == original}


#: Layers whose results XLA would compute again in each layer's kernels.
LAYERS = """
import jax, jax.numpy as jnp

def norm(x):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)

def loss(weights, x):
    for up, down in weights:
        x = x + jnp.tanh(norm(x) @ up) @ down
    return jnp.mean(x * x)

@jax.jit
def layers(weights, x):
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, x))

weights = [(jnp.full((32, 64), 0.01 * n), jnp.full((64, 32), 0.02)) for n in range(8)]
x = jnp.sin(jnp.arange(64.0 * 32)).reshape(64, 32)
"""


def kept():
    """What if values were kept: of a call, of a number, of a program that an option changed, and what is left of it."""
    import jax
    import numpy as np

    xlascope_jax.install()
    names = {}
    exec(LAYERS, names)
    layers, weights, x = names["layers"], names["weights"], names["x"]
    wanted = layers(weights, x)
    number = inspect.explore(layers, weights, x).records[0].program

    def both(subject, *arguments, **options):
        return of(records.Compiled, inspect.what_if(subject, *arguments, change={"keep": "auto"}, **options).records)

    measured = inspect.what_if(layers, weights, x, change={"keep": "auto"})
    plain, changed = of(records.Compiled, measured.records)
    fast = {"options": {"xla_cpu_enable_fast_math": True}}
    inspect.what_if(layers, weights, x, change=fast, timings=False)
    (again,) = of(records.Compiled, inspect.fusions(layers, weights, x).records)
    small = of(records.Compiled, inspect.what_if(jax.jit(jax.numpy.sin), x, change={"keep": "auto"}).records)
    program = inspect.call(layers, weights, x)
    variant = inspect.what_if(program, change={"keep": "auto"}, timings=False)
    operations = {each.path: each.operation for each in variant.records[0].jaxpr.walk()}
    jax.tree.map(np.testing.assert_array_equal, layers(weights, x), wanted)
    return {
        "values": [len(each.kept) for each in (plain, changed)],
        "operations": sorted({operations[path] for path in changed.kept}),
        "computed again": [max(in_kernels(each, changed.kept).values()) for each in (plain, changed)],
        "of a number": [len(each.kept) for each in both(inspect.find_program(number), timings=False)],
        "numbers differ": len({plain.program, changed.program, number}) == 2,
        "the function's own stays": [again.hlo == plain.hlo, again.program == number],
        "little to keep": [each.kept for each in small],
        "measured": "per call" in str(measured),
        "refused": [
            refused(partial(inspect.what_if, layers, weights, x, change={"keep": each})) for each in ("off", len)
        ],
        "asked what is kept": str(inspect.kept(layers, weights, x)),
        "from the panel": from_the_panel(number, ["keep", "auto"]),
        "needs a call": refused(lambda: inspect.what_if(inspect.find_program(number), change={"donate": 0})),
        "for our engine": for_our_engine(),
    }


def from_the_panel(number, change):
    """What the button of a doctor's card answers."""
    reply = SimpleNamespace(progress=lambda *_: None, on_cancel=lambda _: None)
    return Answers()({"question": "whatif", "program": number, "change": change}, reply)[1]


def shared():
    """A program that two devices share."""
    import jax

    xlascope_jax.install()
    names = {}
    exec(LAYERS, names)
    mesh = jax.make_mesh((2,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.NamedSharding(mesh, jax.P("rows"))
    given = names["layers"], names["weights"], jax.device_put(names["x"], rows)
    return {"kept": refused(lambda: inspect.what_if(*given, change={"keep": "auto"}))}


def in_kernels(compiled, paths):
    return {path: sum(path in kernel.equations for kernel in compiled.kernels) for path in paths}


def places(jax):
    """What stands in the places that are taken while somebody watches."""
    from jax._src import compiler, pjit
    from jax._src.interpreters import mlir, pxla

    functions = pjit._trace_for_jit, pxla.lower_sharding_computation, mlir.lower_jaxpr_to_module
    return *functions, compiler.compile_or_get_cached, pxla.ExecuteReplicated.__call__


def refused(ask):
    try:
        return str(ask())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def beside_ours():
    """The same step on both engines: which equations differ."""
    xlascope_jax.install()
    names = {}
    exec(STEP, names)
    import xlascope as xs
    import xlascope.numpy as xnp

    ours = dict(names, jax=xs, jnp=xnp)
    exec(
        STEP.replace("import jax, jax.numpy as jnp", "").replace("jax.tree.map", "xlascope.tree.map"),
        ours | {"xlascope": xs},
    )
    found = inspect.diff((names["step"], names["p"], names["x"]), (ours["step"], ours["p"], ours["x"]), timings=False)
    return {"kernels": [each.kind for each in found.diff.kernels]}


def counted():
    """Calls of functions compiled before, jitted, compiled ahead and derived outside of jit, while somebody watches."""
    import jax
    import jax.numpy as jnp

    def early(x):
        return jnp.sin(x) @ x

    early, x = jax.jit(early), jnp.ones((50, 50))
    early(x)
    if WHAT == "unknown":
        xlascope_jax.watching.TRIED = ("0.1",)
    xlascope_jax.install()
    seen = []

    def late(x):
        return jnp.cos(x) @ x

    late, ahead = jax.jit(late), jax.jit(lambda x: jnp.tan(x) @ x).lower(x).compile()
    derived = jax.grad(lambda x: late(x).sum())
    with Sampler(emit=seen.append, windows=False):
        for _ in range(30):
            early(x), late(x), derived(x), ahead(x)
    latest = {each.program: each for each in of(records.Executed, seen)}
    notes = {each.function: each.notes for each in of(records.Compiled, seen)}
    return {
        "calls": sorted([each.function, each.calls] for each in latest.values() if each.calls >= 29),
        "unwatched": notes.get("early"),
        "asked": refused(lambda: inspect.explore(early, x)) if WHAT == "unknown" else "",
        "labels": len({each.module for each in of(records.Compiled, seen)}) == len(of(records.Compiled, seen)),
    }


def by_turns():
    """Calls of functions that have two programs, by turns: how many of each are counted, and how many there were."""
    import jax
    import jax.numpy as jnp
    import numpy

    undo = xlascope_jax.install()
    x, other, w = jnp.ones((30, 3)), jnp.ones((20, 3)), jnp.ones(4)
    alternatives = {
        "shapes": ((x, 2), (other, 2)),
        "static values": ((x, 2), (x, 3)),
        "scalars": ((1, 2), (1.0, 2)),
        "NumPy's dtypes": ((numpy.ones(3), 2), (numpy.ones(3, "int64"), 2)),
        "weak types": ((jnp.ones(()), 2), (jnp.asarray(1.0), 2)),
        "items": (({"w": w, "x": [x]}, 2), ({"w": w, "x": [other]}, 2)),
        "structures": (({"w": w}, 2), ({"w": w, "x": x}, 2)),
    }
    rows = {}
    for kind, (first, second) in alternatives.items():
        power = jax.jit(lambda x, n: jax.tree.map(lambda leaf: leaf**n, x), static_argnums=1)
        power(*first), power(*second)
        rows[kind] = [
            count_calls(power, [first if begins else second for begins in sequence])
            for sequence in ([True] * 40, [False] * 3 + [True], [True, False] * 60, ([True] * 7 + [False]) * 8)
        ]
    undo()
    return rows


def count_calls(function, sequence):
    """Make calls with these arguments; return how many are counted of each program, and notes that say otherwise."""
    import jax

    seen = []
    with Sampler(emit=seen.append, windows=False):
        for arguments in sequence:
            jax.block_until_ready(function(*arguments))
    last = {each.program: each for each in of(records.Executed, seen)}
    return [last[number].calls for number in sorted(last)] + [note for each in last.values() for note in each.notes]


def from_the_disk():
    """The second of two processes: what the first compiled is loaded."""
    xlascope_jax.install()
    seen = []
    subscription = records.watch(seen.append)
    import jax

    jax.config.update("jax_compilation_cache_dir", sys.argv[2])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    names = {}
    exec(STEP, names)
    names["step"](names["p"], names["x"])
    subscription.close()
    (loaded,) = [each for each in of(records.Compiled, seen) if each.function == "step"]
    asked = of(records.Compiled, inspect.fusions(names["step"], names["p"], names["x"]).records)[0]
    return {
        "cache": loaded.cache,
        "equations": attributed(loaded),
        "said": [note for note in loaded.notes if "on disk" in note] != [],
        "asked": [asked.cache, len(attributed(asked)) > 3],
    }


def retraced():
    xlascope_jax.install()
    seen = []
    records.watch(seen.append)
    import jax
    import jax.numpy as jnp

    def f(x, n=2):
        return x**n

    twice = jax.jit(f, static_argnames="n")
    for x in (jnp.ones(3), jnp.ones(4), jnp.ones(4, jnp.int32), 2.0):
        twice(x)
    twice(2.0, n=3)

    class Model:
        def __init__(self, w, static):
            self.w, self.static = w, static

    jax.tree_util.register_pytree_node(
        Model, lambda model: ((model.w,), model.static), lambda static, leaves: Model(leaves[0], static)
    )

    def step(scale, model):
        return model.w * scale

    for _ in range(2):
        jax.jit(step)(2.0, Model(1.0, {"optimizer": [lambda x: x, 3]}))
    for _ in range(2):
        jax.jit(lambda x: x * 3)(jnp.ones(3))
    try:
        jax.jit(lambda x: x if x > 0 else -x)(1.0)
    except jax.errors.TracerBoolConversionError:
        pass
    (failure,) = of(records.Failure, seen)
    jitted = [each for each in of(records.Traced, seen) if each.function in ("f", "<lambda>")]
    metadata = [each for each in of(records.Traced, seen) if each.function == "step"][-1]
    return {
        "metadata": [metadata.reason, metadata.fix, metadata.call_site.file.rpartition("/")[2]],
        "reasons": [each.reason for each in jitted],
        "fixes": [each.fix != "" for each in jitted],
        "failure": [failure.stage, failure.error, failure.source.function],
    }


ROWS = {
    "notebook": notebook,
    "questions": questions,
    "kept": kept,
    "shared": shared,
    "beside ours": beside_ours,
    "counted": counted,
    "unknown": counted,
    "by turns": by_turns,
    "disk": from_the_disk,
    "retraced": retraced,
}
if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    print(json.dumps(ROWS[WHAT]()))
