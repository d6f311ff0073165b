"""Derivatives where functions have kinks, and what their programs are made of; run with xlascope and with jax."""

import numpy as np

LINE = np.array([-1e30, -88.0, -1.0, -1e-20, -0.0, 0.0, 1e-20, 0.3, 6.0, 7.0, 1e30, np.inf, np.nan], "float32")
PAIRS = np.array([(x, y) for x in (-np.inf, -100, 0, 0.5, 100, np.nan) for y in (-100, 0, 0.5, 100)], "float32").T


def derivatives(lib):
    """Function and order to derivatives along a line, or at pairs; one program, for that is compiled once."""
    functions = {name: getattr(lib.nn, name) for name in ("relu", "relu6", "softplus", "selu")}
    functions["sinc"] = lib.numpy.sinc

    def whole(line, pairs):
        found = {}
        for name, f in functions.items():
            for order in (0, 1, 2):
                found[f"{name} {order}"] = lib.vmap(f)(line)
                f = lib.grad(f)
        found["sinc 4"] = lib.grad(lib.grad(lib.grad(lib.grad(lib.numpy.sinc))))(0.0)
        for name in ("logaddexp", "logaddexp2"):
            f = getattr(lib.numpy, name)
            for label, g in (("x", lib.grad(f, 0)), ("y", lib.grad(f, 1)), ("xy", lib.grad(lib.grad(f, 0), 1))):
                found[f"{name} {label}"] = lib.vmap(g)(*pairs)
        return found

    return {key: np.asarray(value) for key, value in lib.jit(whole)(LINE, PAIRS).items()}


def operations(lib):
    """Function to the names of its operations, those inside of others in parentheses."""

    def names(jaxpr):
        found = []
        for equation in jaxpr.eqns:
            found.append(equation.primitive.name)
            inside = [held for held in equation.params.values() if hasattr(held, "eqns")]
            found += [x for held in inside for x in ("(", *names(held), ")")]
        return found

    return {name: names(lib.make_jaxpr(getattr(lib.nn, name))(np.float32(0.5))) for name in ("relu", "relu6")} | {
        f"grad {name}": [
            x for x in names(lib.make_jaxpr(lib.grad(getattr(lib.nn, name)))(np.float32(0.5))) if "jvp" in x
        ]
        for name in ("relu", "relu6", "softplus", "log_sigmoid")
    }
