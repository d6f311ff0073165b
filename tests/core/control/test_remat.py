"""checkpoint: what is saved and what is computed again. Its values under transformations are in remat_programs.py."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.changes_of_jax import made

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.ad_checkpoint import Offloadable, checkpoint_name, print_saved_residuals, saved_residuals

COUNTS = Path(__file__).with_name("remat_counts.py")
#: What jax computes again although the policy has everything saved: a loop, or a choice, of nothing.
LESS = {
    (name, p)
    for name in ("scan inside", "cond inside", "layers", "scan in a scan")
    for p in ("everything", "anything except a")
}


#: Where jax since 0.11 saves an operand less.
SAVED_TWICE = {("batched products", p) for p in ("everything", "anything except a")}


def test_policies_save_what_they_save_in_jax(jax_says: Any, programs: Any) -> None:
    wanted, found = jax_says(COUNTS, "every"), programs(COUNTS).every(xs)
    assert found.keys() == wanted.keys() and len(found) == 143
    for key, (again, saved) in found.items():
        if key in LESS:
            assert sum(again.values()) <= sum(wanted[key][0].values()), key
        elif key in SAVED_TWICE and made("residuals of batched products"):
            assert again == wanted[key][0] and sum(saved) == sum(wanted[key][1]) + 1, key
        else:
            assert (again, saved) == wanted[key], key


@pytest.mark.parametrize("name", ["named", "jit inside", "layers", "scan in a scan", "cond inside"])
def test_gradients_do_not_depend_on_the_policy(name: str, programs: Any) -> None:
    table = programs(COUNTS)
    f, operands = table.functions(xs)[name]
    wanted = xs.grad(table.loss_of(xs, f))(*operands)
    for policy in ("nothing", "dots", "own", "only a", "everything"):
        g = xs.checkpoint(f, policy=table.policies(xs)[policy])
        found = xs.jit(xs.grad(table.loss_of(xs, g)))(*operands)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=policy)


def test_memory_that_is_gained() -> None:
    """32 layers x -> tanh(x w) with activations of 512 x 128 floats, 256 KiB.

    The backward pass needs three arrays of that size for each layer: 96 of them. With blocks of four layers
    checkpointed it needs the operand of each block (8) and the three of each layer of one block (12), and in both cases
    a few to work on.
    """
    x, ws = np.ones((512, 128), "float32"), np.full((32, 128, 128), 0.01, "float32")

    def layer(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w), None

    def plain(ws: Any, x: Any) -> Any:
        return jnp.sum(lax.scan(layer, x, ws)[0])

    def in_blocks(ws: Any, x: Any) -> Any:
        block = xs.checkpoint(lambda x, ws: (lax.scan(layer, x, ws)[0], None), prevent_cse=False)
        return jnp.sum(lax.scan(block, x, ws.reshape(8, 4, 128, 128))[0])

    compiled = [xs.jit(xs.grad(f)).lower(ws, x).compile() for f in (plain, in_blocks)]
    kept, again = (c.memory_analysis().temp_size_in_bytes / x.nbytes for c in compiled)
    assert 96 <= kept <= 104
    assert 20 <= again <= 28
    np.testing.assert_allclose(xs.grad(in_blocks)(ws, x), xs.grad(plain)(ws, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("prevent_cse", [True, False])
def test_a_barrier_keeps_the_compiler_from_undoing_it(prevent_cse: bool) -> None:
    f = xs.checkpoint(lambda x: jnp.sin(jnp.sin(x)), prevent_cse=prevent_cse)
    text = xs.jit(xs.grad(f)).lower(1.0).as_text()
    assert ("optimization_barrier" in text) is prevent_cse
    assert "optimization_barrier" not in xs.jit(f).lower(1.0).as_text()


def test_forward_derivatives_compute_nothing_again() -> None:
    f = xs.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    program = xs.make_jaxpr(lambda x: xs.jvp(f, (x,), (np.float32(1.0),)))(np.float32(1.0))
    (equation,) = program.eqns
    assert [e.primitive.name for e in equation.params["jaxpr"].eqns].count("sin") == 2
    np.testing.assert_allclose(xs.hessian(f)(0.7), xs.hessian(lambda x: jnp.sin(jnp.sin(x)))(0.7), rtol=1e-6)


def test_the_four_ways_to_write_it() -> None:
    @xs.checkpoint
    def first(x: Any, n: Any = 2, *, mode: str = "sin") -> Any:
        return getattr(jnp, mode)(x) * n

    @functools.partial(xs.remat, static_argnums=(1,), static_argnames=("mode",))
    def second(x: Any, n: Any = 2, *, mode: str = "sin") -> Any:
        return getattr(jnp, mode)(x) * (n if isinstance(n, int) else None)

    @xs.checkpoint(static_argnums=-1)
    def third(x: Any, f: Any) -> Any:
        return f(x)

    assert (first.__name__, second.__name__, xs.remat) == ("first", "second", xs.checkpoint)
    np.testing.assert_allclose(xs.grad(first)(0.5), 2 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(xs.grad(lambda x: first(x, n=3))(0.5), 3 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(xs.grad(second)(0.5, 3, mode="cos"), -3 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(xs.grad(third)(0.5, jnp.exp), np.exp(0.5), rtol=1e-6)


def test_a_value_that_is_closed_over_is_differentiated() -> None:
    def f(y: Any) -> Any:
        return xs.checkpoint(lambda x: jnp.sin(x) * y)(3.0 * y)

    np.testing.assert_allclose(xs.grad(f)(0.4), np.sin(1.2) + 1.2 * np.cos(1.2), rtol=1e-6)
    np.testing.assert_allclose(xs.vmap(xs.grad(f))(jnp.full(2, 0.4)), np.full(2, xs.grad(f)(0.4)), rtol=1e-6)


def test_what_should_be_offloaded_is_saved() -> None:
    policy = xs.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"], offload_src="device", offload_dst="host"
    )
    f = xs.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(checkpoint_name(jnp.sin(x), "a")), "b")), policy=policy)
    kept = [where for _, where in saved_residuals(f, jnp.ones(2))]
    assert [w.split(" at")[0] for w in kept] == ["from the argument x", "named 'a'", "named 'b'"]
    dots = xs.checkpoint_policies.offload_dot_with_no_batch_dims("device", "host")
    assert len(saved_residuals(xs.checkpoint(lambda x: jnp.sin(x @ x), policy=dots), jnp.ones((2, 2)))) == 2
    assert Offloadable("device", "host").dst == "host"


def test_saved_residuals_are_printed_with_their_origins(capsys: Any) -> None:
    table = jnp.arange(3.0)

    def f(x: Any, p: Any) -> Any:
        y = jnp.sin(p["w"] @ x)
        inner = xs.jit(lambda z: jnp.exp(z) * z)
        return jnp.sum(inner(y * table))

    p = {"w": jnp.ones((3, 3)), "b": 1.0}
    print_saved_residuals(f, table, p)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["f32[3] from the argument x", "f32[3,3] from the argument p['w']", "f32[3] from a constant"]
    assert any(line.startswith("f32[3] output of cos at ") and "test_remat.py:" in line for line in lines)
    assert any("output of exp" in line and "<lambda>" in line for line in lines)
    print_saved_residuals(xs.checkpoint(f, policy=xs.checkpoint_policies.dots_saveable), table, p=p)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[3].startswith("f32[3] output of dot_general at ")
    print_saved_residuals(xs.checkpoint(f), table, p)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_policy_sees_the_steps_of_a_loop() -> None:
    def model(ws: Any, x: Any) -> Any:
        return jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0])

    ws, x = np.full((6, 4, 4), 0.3, "float32"), np.ones((2, 4), "float32")
    dots = xs.checkpoint(model, policy=xs.checkpoint_policies.dots_saveable)
    assert [(a.shape, w.split(" at")[0]) for a, w in saved_residuals(dots, ws, x)] == [
        ((6, 4, 4), "from the argument ws"),
        ((2, 4), "from the argument x"),
        ((6, 2, 4), "output of scan"),
    ]
    np.testing.assert_allclose(xs.grad(dots)(ws, x), xs.grad(model)(ws, x), rtol=1e-5)
    np.testing.assert_allclose(
        xs.vmap(xs.grad(dots), in_axes=(None, 0))(ws, x[None]), [xs.grad(model)(ws, x)], rtol=1e-5
    )
