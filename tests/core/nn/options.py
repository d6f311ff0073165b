"""Attention under its options together, and pictures resized by every method; run with xlascope and with jax."""

import itertools

import numpy as np

ATTENTIONS = {
    "bias": (False, True),
    "mask": (False, True),
    "causal": (False, True),
    "window": (None, 1, (2, 0)),
    "lengths": ((), ("query",), ("key_value",), ("query", "key_value")),
    "heads": ((4, 4), (4, 2), (4, 1)),
    "dtype": ("float32", "bfloat16"),
    "broadcast": (False, True),
}


#: What has no complex numbers.
REAL = {("truncated_normal", "complex64"), ("uniform", "complex64")}


def chosen():
    """Choices of options among which every two options meet in every way."""
    names = list(ATTENTIONS)
    everything = list(itertools.product(*(range(len(ATTENTIONS[name])) for name in names)))
    missing = {
        (i, a, j, b)
        for i, j in itertools.combinations(range(len(names)), 2)
        for a in range(len(ATTENTIONS[names[i]]))
        for b in range(len(ATTENTIONS[names[j]]))
    }
    while missing:
        best = max(everything, key=lambda c: sum(c[i] == a and c[j] == b for i, a, j, b in missing))
        missing -= {each for each in missing if best[each[0]] == each[1] and best[each[2]] == each[3]}
        yield {name: ATTENTIONS[name][number] for name, number in zip(names, best, strict=True)}


def attention(lib):
    """Options to results, logsumexps and derivatives."""
    found = {}
    for options in chosen():
        given, function = _attention(lib, **options)
        found[str(options)] = lib.jit(function)(*given)
    return {
        f"{name} [{i}]": np.asarray(y, "float32") for name, ys in found.items() for i, y in enumerate(_leaves(lib, ys))
    }


def _leaves(lib, tree):
    return lib.tree_util.tree_leaves(tree)


def _attention(lib, bias, mask, causal, window, lengths, heads, dtype, broadcast):
    rng, (many, few) = np.random.default_rng(1), heads
    query = rng.normal(size=(2, 5, many, 3))
    key, value = rng.normal(size=(2, 2, 5, few, 3))
    arrays = [lib.numpy.asarray(x, dtype) for x in (query, key, value)]
    shape = (1, many, 5, 1) if broadcast else (2, many, 5, 5)
    options = {
        "bias": lib.numpy.asarray(rng.normal(size=shape), dtype) if bias else None,
        "mask": rng.random(shape) < 0.8 if mask else None,
        "is_causal": causal,
        "local_window_size": window,
        "implementation": "xla",
    }
    options |= {f"{side}_seq_lengths": np.array([5, 3], "int32") for side in lengths}

    def function(*arrays):
        both = lib.nn.dot_product_attention(*arrays, **options, return_residual=True)

        def total(*arrays):
            weights = np.arange(30 * many, dtype="float32").reshape(2, 5, many, 3) % 7
            return (lib.nn.dot_product_attention(*arrays, **options).astype("float32") * weights).sum()

        return both, lib.grad(total, (0, 1, 2))(*arrays)

    return arrays, function


def pictures(lib):
    """Methods and sizes to pictures, and derivatives of what is linear."""
    rng = np.random.default_rng(2)
    picture = rng.normal(size=(6, 7, 2)).astype("float32")
    methods = list(lib.image.ResizeMethod)

    def function(picture, scale, shift):
        for method in methods:
            for antialias in (True, False):
                for shape in ((3, 4, 2), (11, 9, 2), (4, 13, 2), (6, 7, 2), (1, 1, 2)):
                    name = f"{method.name} {antialias} {shape}"
                    yield f"resize {name}", lambda m=method, s=shape, a=antialias: lib.image.resize(picture, s, m, a)
                if method is not lib.image.ResizeMethod.NEAREST:

                    def moved(x, scale, shift, m=method, a=antialias):
                        return lib.image.scale_and_translate(x, (5, 9, 2), (0, 1), scale, shift, m, antialias=a)

                    def total(*given, moved=moved):
                        return (moved(*given) * np.arange(90).reshape(5, 9, 2)).sum()

                    yield f"moved {method.name} {antialias}", lambda f=moved: f(picture, scale, shift)
                    if method.name != "AREA":  # has kinks
                        yield (
                            f"grad {method.name} {antialias}",
                            lambda f=total: lib.grad(f, (0, 1, 2))(picture, scale, shift),
                        )

    def all_of_them(*given):
        return {name: make() for name, make in function(*given)}

    made = lib.jit(all_of_them)(picture, np.float32([0.8, 1.7]), np.float32([0.5, -1.25]))
    return {f"{name} [{i}]": np.asarray(y) for name, ys in made.items() for i, y in enumerate(_leaves(lib, ys))}


def initializers(lib):
    """Every initializer, by name, for the shapes and types that it takes."""
    key, of = lib.random.PRNGKey(4), lib.nn.initializers
    made = {
        "constant": of.constant(2.5),
        "delta_orthogonal": of.delta_orthogonal(),
        "normal": of.normal(),
        "ones": of.ones,
        "orthogonal": of.orthogonal(),
        "truncated_normal": of.truncated_normal(0.3),
        "uniform": of.uniform(),
        "variance_scaling": of.variance_scaling(2.0, "fan_avg", "truncated_normal"),
        "zeros": of.zeros,
    }
    for name in ("glorot", "he", "kaiming", "lecun", "xavier"):
        for kind in ("normal", "uniform"):
            made[f"{name}_{kind}"] = getattr(of, f"{name}_{kind}")()
    return {
        f"{name} {shape} {dtype}": np.asarray(init(key, shape, dtype))
        for name, init in made.items()
        for shape in ((3, 4, 5), (2, 3, 2, 4))
        for dtype in ("float32", "bfloat16", "complex64")
        if dtype == "float32" or ("orthogonal" not in name and (name, dtype) not in REAL)
    }
