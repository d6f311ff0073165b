"""Rows of a table of functions, each under every transformation; run with xlascope and with jax, imports neither."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from jaxlib.mlir.dialects import stablehlo


def load(name):
    """Another file of this folder."""
    spec = spec_from_file_location(f"control_{name}", Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load("programs")
V, W, M, SQUARE = shared.V, shared.W, shared.M, shared.SQUARE
S = np.float32(0.7)


class Rows(dict):
    """Name to (maker, operands): the maker is a function of the library, and gives a function of the operands."""

    def __init__(self):
        super().__init__()
        #: Functions that have no forward derivative, and those that have only a forward one.
        self.reverse_only, self.forward_only = set(), set()
        #: Name to the transformations that fail in jax, or give something else there.
        self.left_out = {}

    def __call__(self, name, *operands, reverse_only=False, forward_only=False, left_out=()):
        """Add a maker. A decorator."""

        def add(maker):
            assert name not in self
            self[name] = (maker, operands)
            self.left_out[name] = left_out
            if reverse_only:
                self.reverse_only.add(name)
            if forward_only:
                self.forward_only.add(name)
            return maker

        return add


# Transformations -----------------------------------------------------------------------------------------------------


def transformed(lib, rows, name, f, operands):
    """(label, function without arguments) of every transformation."""
    array = lib.numpy.asarray
    g, plain = shared.moving_only(f, operands)
    every = tuple(range(len(plain)))
    loss, total = shared.scalar(lib, g), lib.numpy.sum
    first = [array(shared.stacked(x, 0)) for x in plain]
    tangents = tuple(array(shared.direction(x)) for x in plain)
    batches = [(axes, batched(lib, operands, axes)) for axes in shared.batches(operands)]
    grids = [array(shared.stacked(shared.stacked(x, 0), 1)) for x in plain]
    many = [array(shared.stacked(shared.direction(x), 0)) for x in plain]
    operands, moving = [array(x) for x in operands], [array(x) for x in plain]
    yield "value", lambda: f(*operands)
    yield "jit", lambda: lib.jit(f)(*operands)
    for axes, batch in batches:
        yield f"vmap {axes}", lambda axes=axes, batch=batch: lib.vmap(f, in_axes=axes)(*batch)
    if name not in rows.forward_only:
        for axes, batch in batches[max(0, 2 ** len(operands) - 3) : 2 ** len(operands) - 1]:
            yield f"vmap of grad {axes}", lambda axes=axes, batch=batch: each_gradient(lib, f, axes, batch)
        axes, batch = batches[-1]
        yield f"grad of vmap {axes}", lambda: grads(lib, lib.vmap(f, in_axes=axes), batch)
        yield "grad", lambda: lib.grad(loss, every)(*moving)
        if len(every) > 1:
            yield "grad of the last", lambda: lib.grad(loss, len(every) - 1)(*moving)
        yield "jit of grad", lambda: lib.jit(lib.grad(loss, every))(*moving)
        yield "grad of grad", lambda: lib.grad(lambda x: total(lib.grad(loss)(x, *moving[1:]) ** 2))(moving[0])
        yield "jacrev of jacrev", lambda: lib.jacrev(lib.jacrev(loss))(*moving)
        yield "grad of checkpoint", lambda: lib.grad(lib.checkpoint(loss), every)(*moving)
        yield "grad of scan", lambda: lib.grad(lambda *xs: in_scan_of(lib, loss, xs), every)(*moving)
        yield "vmap of vmap", lambda: lib.vmap(lib.vmap(loss), in_axes=1)(*grids)
    if name not in rows.reverse_only:
        yield "jvp", lambda: lib.jvp(g, tuple(moving), tangents)
        yield "jvp of jvp", lambda: lib.jvp(lambda *xs: lib.jvp(loss, xs, tangents)[1], tuple(moving), tangents)
        yield "vmap of jvp", lambda: each_jvp(lib, g, first, tangents)
        yield "jvp of vmap", lambda: lib.jvp(lib.vmap(g), tuple(first), tuple(many))
        yield "jvp of while", lambda: lib.jvp(lambda *xs: in_while_of(lib, loss, xs), tuple(moving), tangents)
        if name not in rows.forward_only:
            yield "hessian", lambda: lib.hessian(loss, every)(*moving)
            yield "linearize", lambda: (lambda y, push: (y, push(*tangents)))(*lib.linearize(g, *moving))


def each_gradient(lib, f, axes, batch):
    """The gradients of all examples."""
    return lib.vmap(lambda *xs: grads(lib, f, xs), in_axes=axes)(*batch)


def each_jvp(lib, g, batch, tangents):
    """The forward derivatives of all examples along the same tangents."""
    return lib.vmap(lambda *xs: shared.moving_leaves(lib, lib.jvp(g, xs, tangents)))(*batch)


def batched(lib, operands, axes):
    """Three examples of the operands with an axis."""
    return [
        lib.numpy.asarray(x if axis is None else shared.stacked(x, axis))
        for x, axis in zip(operands, axes, strict=True)
    ]


def grads(lib, f, operands):
    """The gradients with respect to all floating-point operands."""
    g, moving = shared.moving_only(f, operands)
    return lib.grad(shared.scalar(lib, g), tuple(range(len(moving))))(*moving)


def in_scan_of(lib, loss, operands):
    """A loop that applies a loss to its operands scaled by what it has found."""
    return lib.lax.scan(lambda c, s: (c + loss(*(x * s for x in operands)), c), 0.0, V[:2])[0]


def in_while_of(lib, loss, operands):
    """A loop of unknown length that does the same."""
    return lib.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * loss(*operands)), (0, 1.0))[1]


def everything(lib, tables, interpret):
    """(name, transformation, leaf) -> array. ``interpret`` runs a function without arguments."""
    found = {}
    for rows in tables:
        for name, (maker, operands) in rows.items():
            labels = []

            def whole(rows=rows, name=name, maker=maker, operands=operands, labels=labels):
                made = transformed(lib, rows, name, maker(lib), operands)
                out = rows.left_out[name]
                results = [(label, shared.moving_leaves(lib, run())) for label, run in made if label not in out]
                labels[:] = [(name, label, i) for label, leaves in results for i in range(len(leaves))]
                return [x for _, leaves in results for x in leaves]

            found.update(zip(labels, map(np.asarray, interpret(whole)), strict=True))
    return found


def interpreted_by_jax(lib):
    """``interpret`` for jax, by StableHLO's reference interpreter: XLA would compile for minutes."""

    def interpret(whole):
        module = lib.jit(whole).lower().compiler_ir("stablehlo")
        with module.context:
            return stablehlo.eval_module(module, [])

    return interpret
