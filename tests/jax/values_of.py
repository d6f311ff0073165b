"""The values of calls of jax's functions, in a process of its own: prints rows as JSON."""

import gc
import json
import linecache
import sys
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from asked import for_our_engine, refused
from IPython.core.interactiveshell import InteractiveShell
from jax import lax

import xlascope_jax
from xlascope import inspect
from xlascope.records import EquationPath
from xlascope_ipython.answers import Answers
from xlascope_ipython.replay import LATEST
from xlascope_ipython.value_views import VIEWS, watch_value_calls
from xlascope_jax.bridge.jax_compat import scan_counts

PART = sys.argv[1]

# Sick programs: the line where NaN or infinity is born ends with its mark ---------------------------------------------


def entropy(p):
    return -(p * jnp.log(p)).sum()  # born


def norm(x):
    return jnp.sqrt((x * x).sum(-1)).sum()  # born


def half_precision(x, w):
    hidden = x @ w
    return jnp.mean(hidden * hidden)  # born


def standardize(x):
    centred = x - x.mean(0)
    return centred / jnp.sqrt(jnp.mean(centred**2, 0))  # born


def decay(x):
    def body(level, step):
        level = level - step
        return level, jnp.sqrt(level)  # born

    return lax.scan(body, x, jnp.arange(6.0))[1].sum()


def explode(x):
    def body(carry):
        x, step = carry
        return x * x, step + 1  # born

    return lax.while_loop(lambda carry: carry[1] < 50, body, (x, 0))[0]


@jax.custom_jvp
def safe_root(x):
    return jnp.sqrt(x)


@safe_root.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return safe_root(x), dx / (2 * jnp.sqrt(x))  # born


def blocks(x, number):
    """A branch, a call and a checkpoint around the one equation where it is born."""

    @jax.jit
    def inner(x):
        return jax.checkpoint(lambda x: jnp.log(x - 1.0))(x)  # born

    return lax.switch(number, [lambda x: x, inner, lambda x: x / 0], x)


def nested(x):
    def outer(step, x):
        return lax.scan(lambda x, y: (x + jnp.log(y - step), None), x, jnp.arange(1.0, 5.0))[0]  # born

    return lax.fori_loop(0, 3, outer, x)


def first_of_batch(x, steps):
    """Under vmap a loop whose condition has an axis: examples end one after another."""
    return lax.while_loop(lambda c: c[1] < steps, lambda c: (c[0] * c[0], c[1] + 1), (x, 0))[0]  # born


GRID = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
SICK = {
    "log of 0": (jax.jit(entropy), (jnp.asarray([0.5, 0.5, 0.0]),)),
    "root at 0, gradient": (jax.grad(norm), (jnp.zeros((2, 3)),)),
    "float16": (half_precision, (jnp.full((4, 8), 20, jnp.float16), jnp.full((8, 4), 3, jnp.float16))),
    "variance of 0": (jax.jit(standardize), (np.ones((4, 2), np.float32),)),
    "scan": (jax.jit(decay), (jnp.full(3, 7.0),)),
    "while": (jax.jit(explode), (jnp.full(3, 2.0),)),
    "custom_jvp": (jax.jit(jax.grad(lambda x: safe_root(x).sum())), (jnp.zeros(2),)),
    "nested bodies": (jax.jit(blocks), (jnp.ones(3), 1)),
    "loop in a loop": (jax.jit(nested), (jnp.full(3, 2.0),)),
    "batched loop": (jax.jit(jax.vmap(first_of_batch)), (jnp.full(3, 2.0), jnp.asarray([3, 5, 9]))),
}
#: The same for kinds of arguments.
ARGUMENTS = {
    "Python float": (jax.jit(lambda x: jnp.log(x)), (0.0,)),  # born
    "scalar of NumPy": (jax.jit(lambda x: jnp.log(x)), (np.float16(0),)),  # born
    "float64 narrowed": (jax.jit(lambda x: 1 / x), (np.zeros(3),)),  # born
    "static arguments": (jax.jit(lambda x, n: x**n, static_argnums=1), (GRID, -1)),  # born
    "unused and constant": (jax.jit(lambda _, x: x / jnp.asarray(GRID)), (3.0, GRID)),  # born
    "donated": (jax.jit(lambda x: x / 0, donate_argnums=0), (jnp.ones(3),)),  # born
    "random key": (jax.jit(lambda key: jax.random.normal(key, (4,)) / 0), (jax.random.key(0),)),  # born
    "complex": (jax.jit(lambda x: jnp.log(x * 0j)), (GRID,)),  # born
    "float8": (jax.jit(lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32)), (1e4 * GRID,)),  # born
}


def sick():
    return {name: _describe(function, *args) for name, (function, args) in SICK.items()}


def arguments():
    return {name: _describe(function, *args) for name, (function, args) in ARGUMENTS.items()}


def _describe(function, *args):
    """Ask twice: where it is born, whether that is the marked line, and what the second time compiles."""
    found = inspect.values(function, *args)
    compilations.clear()
    again = inspect.values(function, *args)
    births = [[birth.kind, birth.operation, list(birth.iterations)] for birth in found.report.births]
    lines = {linecache.getline(birth.source.file, birth.source.line).strip() for birth in found.report.births}
    assert [birth.sentence for birth in again.report.births] == [birth.sentence for birth in found.report.births]
    return {
        "births": births,
        "sentence": found.report.births[-1].sentence if births else "",
        "at the mark": all(line.endswith("# born") for line in lines),
        "compiled again": len(compilations),
        "equal or close": found.report.difference is not None and found.report.difference < 1e-5,
    }


# Healthy programs -----------------------------------------------------------------------------------------------------


def softmax(x, mask):
    weights = jax.nn.softmax(jnp.where(mask, x, -jnp.inf))
    return weights, jax.nn.logsumexp(100 * x, -1)


def block(params, x):
    """A transformer block without a library: attention, normalization, and a layer of GELU."""

    def normalize(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + params["epsilon"])

    q, k, v = jnp.split(normalize(x) @ params["qkv"], 3, -1)
    scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), q @ k.T / 4, -jnp.inf)
    x = x + jax.nn.softmax(scores) @ v
    return x + jax.nn.gelu(normalize(x) @ params["up"]) @ params["down"]


def train(params, x):
    value, gradient = jax.value_and_grad(lambda params: jnp.mean(block(params, x) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


def recur(w, x):
    def body(carry, x):
        carry = jnp.tanh(carry @ w + x)
        return carry, carry

    return lax.scan(body, jnp.zeros(4), x)[1].sum()


def _parameters():
    draw = np.random.default_rng(0).normal
    shapes = {"qkv": (16, 48), "up": (16, 32), "down": (32, 16)}
    params = {name: jnp.asarray(0.2 * draw(size=shape), jnp.float32) for name, shape in shapes.items()}
    return {**params, "epsilon": 1e-5}, jnp.asarray(draw(size=(8, 16)), jnp.float32)


def healthy():
    params, x = _parameters()
    calls = {
        "softmax": (jax.jit(softmax), (x, x > 0.1)),
        "transformer": (jax.jit(train), (params, x)),
        "recurrent": (jax.jit(jax.grad(recur)), (0.1 * jnp.eye(4), x[:, :4])),
    }
    rows = {name: _describe(function, *args) for name, (function, args) in calls.items()}
    same = jnp.broadcast_to(x[:, :1], x.shape)  # each row has a variance of 0
    return rows | {"transformer without epsilon": _describe(jax.jit(block), {**params, "epsilon": 0.0}, same)}


# Statistics -----------------------------------------------------------------------------------------------------------


def statistics():
    """Statistics and ranges against NumPy in float64, of values that the same program returns."""
    rng, failed = np.random.default_rng(1), []
    data = rng.normal(size=(40, 30)) * 2.0 ** rng.integers(-30, 30, (40, 30))
    data[0, :7], data[1, 3] = 0, -0.0

    def program(x):
        y = x * 2
        z = jnp.maximum(y, 0)
        return y, z, jnp.sum(z, 0), jnp.tanh(x)

    def overflowing(x):
        return x * x

    for dtype in ("float32", "float16", "bfloat16", "float64", "complex64", "float8_e5m2"):
        with jax.enable_x64(dtype == "float64"):
            limit = float(ml_dtypes.finfo(dtype).max) if dtype != "complex64" else 1e38
            x = jnp.asarray(np.clip(data, -limit / 200, limit / 200), dtype)
            failed += _check_statistics(dtype, program if dtype != "complex64" else lambda x: (x * 2, x + 1j), x)
            huge = jnp.asarray(np.clip(data * 1e3, -limit / 4, limit / 4), dtype)
            (birth,) = (inspect.values(jax.jit(overflowing), huge).report.births or [None])[:1]
            if birth is not None:
                failed += _differences(f"{dtype}, operand of a birth", birth.operands[0], huge)
    return {"failed": failed, "as operations alone": _equals_operations_alone()}


def _check_statistics(dtype, program, x):
    found = inspect.values(jax.jit(program), x)
    traced, outputs = found.records[0].jaxpr, inspect.call(program, x).function(x)
    failed, checked = [], 0
    for value in found.report.values:
        if value.position == "result" and value.statistics is not None and value.name in traced.outputs:
            failed += _differences(f"{dtype} {value.path}", value, outputs[traced.outputs.index(value.name)])
            checked += 1
    return failed if checked else [f"{dtype}: nothing was checked"]


def _differences(name, value, array):
    """What NumPy says otherwise about an array than the record of the value does."""
    array = np.asarray(array)
    kind = "float32" if array.dtype.kind == "c" or array.dtype.itemsize == 1 else str(array.dtype)
    parts = np.concatenate([array.real.ravel(), array.imag.ravel()]) if array.dtype.kind == "c" else array.ravel()
    x = parts.astype(np.float64)
    finite, limits = np.isfinite(x), ml_dtypes.finfo(kind)
    good, tiny = x[finite], float(limits.smallest_normal)
    exponents = np.floor(np.log2(np.abs(good[good != 0])))
    bins, counts = np.unique(np.clip(exponents, max(int(limits.minexp) - 1, -127), 127).astype(int), return_counts=True)
    wanted = {
        "elements": x.size,
        "zeros": int((x == 0).sum()),
        "subnormals": int(((np.abs(x) < tiny) & (x != 0)).sum()),
        "nans": int(np.isnan(x).sum()),
        "infs": int(np.isinf(x).sum()),
        "negatives": int((x < 0).sum()),
        "minimum": good.min(),
        "maximum": good.max(),
        "mean": good.mean(),
        "root_mean_square": np.sqrt((good**2).mean()),
        "exponents": tuple(zip(bins.tolist(), counts.tolist(), strict=True)),
    }
    found = value.statistics
    failed = [
        f"{name}: {field} {getattr(found, field)} is {number}"
        for field, number in wanted.items()
        if not _is_close(getattr(found, field), number)
    ]
    largest = None if not finite.all() else min(np.abs(good).max(), float(np.finfo(np.float32).max))
    if value.position == "result" and not _is_close(value.largest, None if largest is None else np.float32(largest)):
        failed.append(f"{name}: largest {value.largest} is {largest}")
    return failed


def _is_close(found, wanted):
    if found is None or wanted is None or isinstance(wanted, tuple):
        return found == wanted
    return bool(np.isclose(float(found), float(wanted), rtol=1e-12, atol=0))


def _equals_operations_alone():
    """The twin computes what its operations compute one by one, to the bit."""
    program = inspect.call(jax.jit(block), *_parameters())
    outputs = inspect.producers.program_of(program).host.probed_ranges(None).outputs
    with jax.disable_jit():
        alone = block(*_parameters())
    return np.asarray(outputs[0]).tobytes() == np.asarray(alone).tobytes()


class _Wrapper:
    """Jitted function as libraries wrap them: it brings its arguments into a form of its own."""

    def __init__(self, function):
        self.inner = jax.jit(lambda dynamic, static: function(*dynamic), static_argnums=1)

    def __call__(self, *args):
        return self.inner(args, "static")

    def lower(self, *args):
        return SimpleNamespace(lowered=self.inner.lower(args, "static"))


def _forgets(**options):
    """Whether the program is gone with its function, though its values were asked for."""
    function = jax.jit(lambda x: jnp.log(x), **options)
    number = inspect.values(function, GRID).report.program
    del function
    gc.collect()
    return inspect.find_program(number) is None


# Bounds ---------------------------------------------------------------------------------------------------------------


def bounds():
    """What is refused, what has effects, and what is not looked into."""
    deleted = jnp.ones(3)
    jax.jit(lambda x: x * 2, donate_argnums=0)(deleted)
    printed, called = [], []
    root = jax.ShapeDtypeStruct((3, 4), np.float32)

    def call_back(x):
        called.append(1)
        return np.log(x, where=x > 0, out=np.zeros_like(x))

    def prints(x):
        jax.debug.callback(lambda x: printed.append(1), x)
        return jnp.log(x)

    mesh = jax.make_mesh((2,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.NamedSharding(mesh, jax.P("rows"))
    sharded = jax.device_put(jnp.linspace(-1, 1, 4000).reshape(4, 1000), rows)
    shard_map = partial(jax.shard_map, mesh=mesh, in_specs=jax.P("rows"), out_specs=jax.P("rows"))
    program = inspect.find_program(inspect.explore(jax.jit(jnp.log), GRID).records[0].program)

    def into_reference(reference, x):
        reference[...] = x
        return jnp.log(reference[...])

    with jax.debug_nans(True):
        checked = _births(jax.jit(lambda x: jnp.log(-x)), GRID + 1)
    return {
        "deleted": refused(lambda: inspect.values(jax.jit(jnp.log), deleted)),
        "shapes": refused(lambda: inspect.values(jax.jit(jnp.log), root)),
        "no call": refused(lambda: inspect.values(program)),
        "mutable": refused(lambda: inspect.values(jax.jit(into_reference), jax.new_ref(jnp.zeros((3, 4))), GRID)),
        "wrapped": _births(_Wrapper(lambda x, factor: factor * jnp.log(x)), GRID, 2.0),
        "forgotten": [_forgets(), _forgets(keep_unused=True)],
        "prints": [_births(jax.jit(prints), GRID), printed],
        "callback": [_births(jax.jit(lambda x: jax.pure_callback(call_back, root, x) / 0), GRID), len(called) > 0],
        "io": _births(jax.jit(lambda x: jax.experimental.io_callback(call_back, root, x, ordered=True) / 0), GRID),
        "shard_map": _births(jax.jit(shard_map(jnp.log)), sharded),
        "sharded": _births(jax.jit(lambda x: lax.scan(lambda c, _: (jnp.log(c), None), x, length=2)[0]), sharded),
        "debug_nans": checked,
        "64 bits after": jnp.asarray(1.5).dtype.name,
        "integers": _births(jax.jit(lambda x: x + 1), np.arange(3)),
        "none": _births(jax.jit(jnp.sum), np.zeros((0, 3), np.float32)),
    }


def _births(function, *args):
    report = inspect.values(function, *args).report
    return [[birth.kind, birth.operation] for birth in report.births], [note[:40] for note in report.notes]


# A notebook -----------------------------------------------------------------------------------------------------------


def notebook():
    """The magic, the doctor, and a panel that looks into a value: nothing of xlascope's own engine is started."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "xlascope")
    end = watch_value_calls()
    shell.user_ns.update(jax=jax, jnp=jnp, decay=jax.jit(decay), start=jnp.full(3, 7.0))
    cells = ["%values decay(start);", "%doctor decay(start);"]
    failed = [cell for cell in cells if not shell.run_cell(cell).success]
    found = inspect.values(shell.user_ns["decay"], shell.user_ns["start"])
    (birth,) = found.report.births
    question = {"program": found.report.program, "path": str(birth.path), "position": "operand", "index": 0}
    opened = [VIEWS.open(question), VIEWS.open({**question, "iterations": [1]})]
    row = VIEWS.open({**question, "position": "argument", "path": ""})
    end()
    return {
        "failed": failed,
        "opened": [[each["iterations"], each["loops"], each["shape"]] for each in opened],
        "argument": row["shape"],
        "text": str(found).splitlines()[0],
        "doctor": str(inspect.doctor(shell.user_ns["decay"], shell.user_ns["start"])).splitlines()[1][:28],
        "saved": [each["kind"] for each in found.to_json()["records"]],
        "for our engine": for_our_engine(),
    }


CELLS = """import jax, jax.numpy as jnp
@jax.jit
def bad(x):
    return jnp.log(x - 1.0)
gives = jax.jit(bad, donate_argnums=0)"""


def replayed():
    """Where was it born? A strip's question about the latest call of a cell: in Python, repeated, and donated."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "xlascope")
    reply = SimpleNamespace(progress=lambda *_: None, on_cancel=lambda _: None)

    def run(cell):
        assert shell.run_cell(f"{cell}\ny.block_until_ready();", store_history=True).success

    def ask(number):
        records = list(Answers()({"question": "values", "program": number}, reply)[0])
        return [records[-1].births[0].operation, records[-1].program == number]

    rows = {}
    shell.run_cell(CELLS)
    for name, cell in (("once", "y = bad(jnp.float32(1))"), ("loop", "for _ in range(20): y = bad(jnp.float32(1))")):
        run(cell)
        rows[name] = ask(LATEST._calls[0].programs[0])
    run("x = jnp.float32(1)\ny = gives(x)")
    rows["donated"] = refused(lambda: ask(0))
    run("y = jnp.log(jnp.zeros(2))")
    rows["outside of jit"] = refused(lambda: ask(0))
    return rows | {"for our engine": for_our_engine()}


def captured():
    """Values that are computed again: keys, branches, iterations, and what is not there."""

    def capture(function, args, path, position="result", index=0, at=(), size=1 << 20):
        host = inspect.producers.program_of(function, args).host
        value = host.captured_value(EquationPath(path), position, index, at, size)
        return [np.asarray(value.array).tolist(), list(value.loops), list(value.iterations)]

    def split(key, number):
        return lax.switch(number, [lambda key: jax.random.split(key), lambda key: jax.random.split(key)[::-1]], key)

    key, level = jax.random.key(3), (jnp.full(2, 7.0),)
    walk = inspect.explore(jax.jit(split), key, 1).records[0].jaxpr.walk()
    paths = [each.path for each in walk if each.operation == "random_split"]
    roots = [each.path for each in inspect.explore(jax.jit(decay), *level).records[0].jaxpr.walk()]
    root = next(path for path in roots if path.count("/") == 1 and path.endswith("/1"))
    return {
        "key": capture(jax.jit(split), (key, 0), paths[0])[0] == jax.random.key_data(jax.random.split(key)).tolist(),
        "not run": refused(lambda: capture(jax.jit(split), (key, 0), paths[1])),
        "last": capture(jax.jit(decay), level, root),
        "third": capture(jax.jit(decay), level, root, at=(2,)),
        "too large": refused(lambda: capture(jax.jit(decay), level, root, size=7)),
        "nowhere": refused(lambda: capture(jax.jit(decay), level, "77")),
        "argument": capture(jax.jit(decay), level, "", "argument"),
        "scan counts": list(map(_agrees_with_parameters, (decay, jax.grad(decay), jax.vmap(decay), nested), 4 * level)),
    }


def _agrees_with_parameters(function, x):
    """Whether types tell what is carried as an older jax stores it; since 0.11 no parameters have these numbers."""
    scans = [each for each in jax.make_jaxpr(function)(x).jaxpr.eqns if each.primitive.name == "scan"]
    stored = [(each.params.get("num_consts"), each.params.get("num_carry")) for each in scans]
    return all(numbers in (scan_counts(each), (None, None)) for each, numbers in zip(scans, stored, strict=True))


compilations: list[str] = []
PARTS = {
    "sick": sick,
    "arguments": arguments,
    "healthy": healthy,
    "statistics": statistics,
    "bounds": bounds,
    "notebook": notebook,
    "captured": captured,
    "replayed": replayed,
}
if __name__ == "__main__":
    xlascope_jax.install()
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compilations.append(event) if "backend_compile" in event else None
    )
    print(json.dumps(PARTS[PART]()))
