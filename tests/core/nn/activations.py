"""The functions of nn on values that go wrong first; run with xlascope and with jax."""

import numpy as np

LINE = np.array(
    [-np.inf, -1e30, -1000.0, -88.0, -6.0, -1.5, -1e-20, -0.0, 0.0, 1e-20, 0.3, 6.0, 7.0, 88.0, 1000.0, 1e30, np.inf]
)
ELEMENTWISE = [
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "log_sigmoid",
    "silu",
    "swish",
    "soft_sign",
    "tanh",
    "elu",
    "selu",
    "leaky_relu",
    "gelu",
    "celu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "identity",
    "mish",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
]
ROWS = np.array([[1.0, 2.0, 3.0], [1000.0, -1000.0, 1000.0], [0.0, -np.inf, 1.0], [-1e30, 0.0, 1e30]], "float32")


def values(lib):
    """Name to array."""
    return {
        name: np.asarray(value) for part in (elementwise, along, classes, begin) for name, value in part(lib, lib.nn)
    }


def elementwise(lib, nn):
    line = LINE.astype("float32")
    finite = line[1:-1]
    for name in ELEMENTWISE:
        f = getattr(nn, name)
        yield name, f(line)
        yield f"{name} of NaN", f(np.float32(np.nan))
        yield f"grad {name}", lib.vmap(lib.grad(f))(finite)
        yield f"{name} of an array", f(np.arange(6, dtype="float32").reshape(2, 3))
        yield f"grad grad {name}", lib.vmap(lib.grad(lib.grad(f)))(np.array([-2.0, -0.5, 0.25, 3.0], "float32"))
    yield "softplus, second derivative at 0", lib.grad(lib.grad(nn.softplus))(0.0)
    yield "gelu exact", nn.gelu(finite[3:12], approximate=False)
    yield "grad gelu exact", lib.vmap(lib.grad(lambda x: nn.gelu(x, approximate=False)))(finite[3:12])
    yield "elu alpha", nn.elu(finite, 0.5)
    yield "leaky_relu slope", nn.leaky_relu(finite, 0.2)
    yield "relu of integers", nn.relu(np.array([-2, 0, 5]))
    yield "relu in half precision", nn.relu(np.array([-2, 0, 5], "float16"))


def along(lib, nn):
    logsumexp = lib.nn.logsumexp
    x = np.linspace(-3, 3, 24, dtype="float32").reshape(2, 3, 4)
    for name, f in (("softmax", nn.softmax), ("log_softmax", nn.log_softmax), ("logsumexp", logsumexp)):
        for axis in (-1, 0, 1, (0, 2), None):
            yield f"{name} axis {axis}", f(x, axis=axis)
        yield f"{name} of large logits", f(ROWS, axis=-1)
        yield f"grad {name} of large logits", lib.grad(lambda y, f=f: f(y, axis=-1)[..., :1].sum())(ROWS)
        yield f"{name} with where", f(x, axis=-1, where=x > -1)
        yield f"jacobian {name}", lib.jacrev(lambda y, f=f: f(y, axis=-1))(x[0])
        yield f"hessian {name}", lib.hessian(lambda y, f=f: f(y, axis=-1)[0])(x[0, :2])
        yield f"vmap {name}", lib.vmap(lambda y, f=f: f(y, axis=0))(x)
    yield "logsumexp keepdims", logsumexp(x, axis=1, keepdims=True)
    yield "logsumexp b", logsumexp(x, axis=1, b=np.array([1.0, 2.0, 0.5, 0.0], "float32"))
    yield "logsumexp sign", logsumexp(x, axis=1, b=-1.0, return_sign=True)[1]
    yield "logsumexp of nothing likely", logsumexp(np.full(3, -np.inf, "float32"))
    yield "logsumexp of something certain", logsumexp(np.array([0.0, np.inf], "float32"))
    yield "standardize", nn.standardize(x)
    yield "standardize axis 0", nn.standardize(x, axis=0)
    yield "standardize where", nn.standardize(x, where=x > -1)
    yield "standardize stable", nn.standardize(x, algorithm="stable")
    yield "standardize float16", nn.standardize(x.astype("float16"))
    yield "softmax over a list of axes", nn.softmax(x, axis=[0])
    yield "grad standardize", lib.grad(lambda y: (nn.standardize(y)[..., 0] ** 2).sum())(x)


def classes(lib, nn):
    labels = np.array([0, 2, 3, -1, 1])
    yield "one_hot", nn.one_hot(labels, 3)
    yield "one_hot axis 0", nn.one_hot(labels, 3, axis=0)
    yield "one_hot of a matrix", nn.one_hot(labels.reshape(5, 1), 4, axis=1)
    yield "one_hot dtype", nn.one_hot(labels, 3, dtype="int32")
    yield "one_hot of a number", nn.one_hot(1, 3)
    yield "one_hot of uint8", nn.one_hot(labels.astype("uint8"), 3)
    yield "one_hot over a mapped axis", lib.vmap(lambda i: nn.one_hot(i, 5, axis="i"), axis_name="i")(labels)
    yield "vmap one_hot", lib.vmap(lambda i: nn.one_hot(i, 3))(labels)


def begin(lib, nn):
    key = lib.random.PRNGKey(0)
    for name in ["glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal"]:
        yield name, getattr(nn.initializers, name)()(key, (3, 4))
        yield f"{name} of a window", getattr(nn.initializers, name)()(key, (2, 2, 3, 4))
    yield "initializers.normal", nn.initializers.normal(0.1)(key, (5,))
    yield "initializers.uniform", nn.initializers.uniform(0.1)(key, (5,))
    for column_axis in (-1, 0, 1):
        orthogonal = nn.initializers.orthogonal(2.0, column_axis)
        yield f"initializers.orthogonal {column_axis}", orthogonal(key, (3, 2, 4))
    for shape in ((3, 2, 4), (2, 3, 3, 3), (1, 2, 3, 2, 2)):
        yield f"initializers.delta_orthogonal {shape}", nn.initializers.delta_orthogonal(0.5)(key, shape)
    yield "initializers.zeros", nn.initializers.zeros(key, (2, 3))
    yield "initializers.ones", nn.initializers.ones(key, (), "int32")
    yield "initializers.constant", nn.initializers.constant(3.5)(key, (2,))
    yield "initializers.constant of an array", nn.initializers.constant(np.ones(2), "float16")(key, (3, 2))
    yield "initializers.normal dtype", nn.initializers.normal(dtype="float16")(key, (3, 2))
    yield "fan_geo_avg", nn.initializers.variance_scaling(1.0, "fan_geo_avg", "normal")(key, (2, 3))
    yield "batch_axis", nn.initializers.he_normal(batch_axis=0)(key, (2, 3, 4))
    yield "several axes", nn.initializers.he_normal((0, 1), 2)(key, (2, 3, 4))
    for distribution in ("uniform", "truncated_normal"):
        scaling = nn.initializers.variance_scaling(1.0, "fan_in", distribution, dtype="complex64")
        yield f"complex {distribution}", scaling(key, (2, 3))
