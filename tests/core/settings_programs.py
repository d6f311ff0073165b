"""What settings do: programs that either library can run. Each row is a name and what came out: a value or an error."""

import warnings

import numpy as np

PRECISIONS = [
    *(None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "F32_F32_F32"),
]


def said(program):
    """What a program gives: numbers with their dtype, text, or the name of the error."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = program()
    except Exception as error:
        return type(error).__name__
    value = found if isinstance(found, (str, bool)) else np.asarray(found)
    words = () if isinstance(value, (str, bool)) else (value.dtype.name, value.tolist())
    return (*(words or (value,)), [type(w.message).__name__ for w in warned])


def precisions(lib):
    a = np.ones((2, 2), "float32")

    def product(x):
        return lib.numpy.matmul(x, x)

    for precision in PRECISIONS:
        with lib.default_matmul_precision(precision):
            yield f"jaxpr under {precision}", lambda: str(lib.make_jaxpr(product)(a))
            yield (
                f"gradient under {precision}",
                lambda: str(lib.make_jaxpr(lib.grad(lambda x: lib.numpy.sum(product(x))))(a)),
            )
            yield (
                f"StableHLO under {precision}",
                lambda: next(x.strip() for x in lib.jit(product).lower(a).as_text().splitlines() if "dot_g" in x),
            )
    for precision in ["HIGHEST", "nonsense", ("high", None), 1]:
        yield f"precision={precision!r}", lambda p=precision: lib.numpy.matmul(a, a, precision=p)
    for precision in [("high", "default"), lib.lax.Precision.HIGHEST, "fastest", "bfloat16_3x"]:
        yield (
            f"precision={precision!r}",
            lambda p=precision: str(lib.make_jaxpr(lambda x: lib.numpy.matmul(x, x, precision=p))(a)),
        )


def ranks(lib):
    jnp, row, table = lib.numpy, np.ones(3, "float32"), np.ones((2, 3), "float32")
    programs = {
        "add": lambda: jnp.add(row, table),
        "arrays": lambda: jnp.asarray(row) + jnp.asarray(table),
        "twice": lambda: jnp.asarray(row) + jnp.asarray(table),
        "jit": lambda: lib.jit(lambda x, y: x * y)(row, table),
        "scalar": lambda: jnp.float32(2) * table,
        "number": lambda: 2.0 * jnp.asarray(table),
        "same rank": lambda: table[:1] + jnp.asarray(table),
        "where": lambda: jnp.where(np.array([True, False, True]), row, table),
        "clip": lambda: jnp.clip(table, row, 2.0),
        "power": lambda: jnp.asarray(table) ** row,
        "maximum": lambda: jnp.maximum(table, row),
        "matmul": lambda: jnp.matmul(np.ones((3, 3), "float32"), np.ones((2, 3, 3), "float32")),
        "broadcast_to": lambda: jnp.broadcast_to(row, (2, 3)),
        "softmax": lambda: lib.nn.softmax(jnp.zeros((2, 2))),
        "set": lambda: jnp.asarray(table).at[:].set(row),
        "isin": lambda: jnp.isin(table, row),
        "indexing": lambda: jnp.asarray(table)[np.array([[0]]), np.array([0])],
    }
    with lib.numpy_rank_promotion("raise"):
        yield from programs.items()
    with lib.numpy_rank_promotion("allow"):
        yield "add under allow", programs["add"]
    with lib.numpy_rank_promotion("warn"):
        yield "add under warn", lambda: jnp.add(row, table)
        yield "same rank under warn", programs["same rank"]


def dtypes(lib):
    jnp = lib.numpy
    i, f, h = jnp.arange(3), jnp.ones(3), jnp.ones(3, "float16")
    programs = {
        "int + float": lambda: i + f,
        "the same again": lambda: i + f,
        "int + 1.0": lambda: i + 1.0,
        "int + 1": lambda: i + 1,
        "float + 1": lambda: f + 1,
        "float ** 2": lambda: f**2,
        "float ** int": lambda: f**i,
        "int + True": lambda: i + True,
        "bool + 1": lambda: (i > 1) + 1,
        "bool | True": lambda: (i > 1) | True,
        "float + 1j": lambda: f + 1j,
        "float16 + float32": lambda: h + f,
        "uint8 + int32": lambda: i.astype("uint8") + i,
        "sin of int": lambda: jnp.sin(i),
        "int / int": lambda: (i + 1) / (i + 1),
        "numbers": lambda: jnp.add(1, 1.0),
        "concatenate": lambda: jnp.concatenate([i, f]),
        "where": lambda: jnp.where(i > 0, i, f),
        "equal": lambda: i == f,
        "matmul": lambda: i @ f,
        "set": lambda: f.at[0].set(i[0]),
        "set a number": lambda: f.at[0].set(2),
        "add at": lambda: i.at[0].add(1.5),
        "mean of int": lambda: jnp.mean(i),
        "NumPy scalar": lambda: f * np.float64(3),
        "jit": lambda: lib.jit(lambda x: x + 1.0)(i),
        "result_type": lambda: str(jnp.result_type("int32", "float32")),
        "promote_types": lambda: str(jnp.promote_types("int32", "float32")),
        "array": lambda: jnp.array([1, 2.0]),
        "softmax": lambda: lib.nn.softmax(jnp.zeros(2)),
        "gradient": lambda: lib.grad(lambda x: jnp.sum(jnp.square(x)) / 3)(f),
        "one_hot": lambda: lib.nn.one_hot(i, 3),
        "take": lambda: jnp.take(f, i),
    }
    with lib.numpy_dtype_promotion("strict"):
        yield from programs.items()
    with lib.numpy_dtype_promotion("standard"):
        yield "int + float under standard", programs["int + float"]


def transfers(lib):
    jnp = lib.numpy
    x, n = jnp.ones(3), np.ones(3, "float32")
    add = lib.jit(lambda a: a + 1)
    for operand in (x, n, np.float32(2)):
        add(operand)
    jnp.sin(n)
    programs = {
        "jit of an array": lambda: add(x),
        "jit of a NumPy array": lambda: add(n),
        "jit of a NumPy scalar": lambda: add(np.float32(2)),
        "jit of a number": lambda: add(2.0),
        "an operation on a NumPy array": lambda: jnp.sin(n),
        "asarray": lambda: jnp.asarray(n),
        "array": lambda: jnp.array([1.0, 2.0]),
        "device_put": lambda: lib.device_put(n),
        "device_get": lambda: lib.device_get(x),
        "to another device": lambda: lib.device_put(x, lib.devices()[1]),
        "to NumPy": lambda: np.asarray(x),
    }
    for guard in ("transfer_guard", "transfer_guard_host_to_device", "transfer_guard_device_to_device"):
        for level in ("allow", "disallow", "disallow_explicit"):
            with getattr(lib, guard)(level):
                for name, program in programs.items():
                    yield f"{name} under {guard}({level})", program


def devices(lib):
    jnp = lib.numpy
    x, chosen = jnp.ones(3), lib.device_put(1.0, lib.devices()[0])
    second = lib.devices()[1]
    with lib.default_device(second):
        programs = {
            "ones": lambda: jnp.ones(2),
            "an operation on an array": lambda: x + 1,
            "on a committed one": lambda: chosen + 1,
            "jit": lambda: lib.jit(lambda a: a * 2)(x),
            "device_put of a number": lambda: lib.device_put(1.0),
            "device_put of an array": lambda: lib.device_put(x),
            "random bits": lambda: lib.random.normal(lib.random.key(0), (2,)),
            "grad": lambda: lib.grad(jnp.sin)(1.0),
        }
        for name, program in programs.items():
            yield name, lambda p=program: f"{sorted(d.id for d in p().devices())} {p().committed}"
    yield "afterwards", lambda: f"{sorted(d.id for d in (x + 1).devices())}"
    with lib.default_device("cpu"):
        yield "a platform", lambda: f"{sorted(d.id for d in jnp.ones(2).devices())}"


def deleted(lib):
    x = lib.numpy.ones(3)
    y = x + 1
    yield "before", lambda: x.is_deleted()
    x.delete()
    yield "after", lambda: x.is_deleted()
    yield "shape", lambda: str(x.shape)
    yield "again", lambda: str(x.delete())
    yield "what was computed", lambda: y


def rows(lib, which):
    """The rows of a table, each run while its settings hold."""
    return [(name, said(program)) for name, program in which(lib)]


def all_of_precision(lib):
    return rows(lib, precisions)


def all_of_promotion(lib):
    return rows(lib, ranks) + rows(lib, dtypes)


def all_of_devices(lib):
    return rows(lib, transfers) + rows(lib, devices) + rows(lib, deleted)
