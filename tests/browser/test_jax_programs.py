"""A notebook that uses jax, and nothing of our engine: its cells show the same panel."""

import re
from typing import Any

MODEL = """
%load_ext xlascope
import jax, jax.numpy as jnp

def block(p, x):
    with jax.named_scope("attention"):
        q, k, v = (x @ p[name] for name in ("q", "k", "v"))
        x = x + jax.nn.softmax(q @ k.T / 8.0) @ v
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(x @ p["up"]) @ p["down"]

def loss(params, x, y):
    for p in params:
        x = block(p, x)
    return jnp.mean((x - y) ** 2)

@jax.jit
def train_step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return value, jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)

def init(key):
    sizes = {"q": (64, 64), "k": (64, 64), "v": (64, 64), "up": (64, 256), "down": (256, 64)}
    keys = jax.random.split(key, len(sizes))
    return {name: 0.1 * jax.random.normal(k, size) for k, (name, size) in zip(keys, sizes.items())}

params = [init(k) for k in jax.random.split(jax.random.key(0), 3)]
x, y = jnp.ones((128, 64)), jnp.zeros((128, 64))
"""

TRAIN = """
for _ in range(1500):
    value, params = train_step(params, x, y)
value.block_until_ready()
"""


def test_a_notebook_of_jax_has_the_panel(lab: Any) -> None:
    notebook = lab.new(
        MODEL,
        TRAIN,
        "%explore train_step(params, x, y)",
        "%fusions --text train_step(params, x, y)",
        "import sys; 'xlascope.runtime.boot' in sys.modules",
    )
    notebook.run_all()
    notebook.wait_idle()
    notebook.screenshot("jax-strip", notebook.cell_output(1))
    strip = notebook.cell_output(1)
    assert "train_step" in strip.inner_text()
    assert re.search(r"1,500\s+calls", strip.inner_text()), strip.inner_text()
    strip.get_by_text("open ▾").click()
    notebook.page.wait_for_timeout(1500)
    notebook.screenshot("jax-panel", notebook.cell_output(1))
    notebook.screenshot("jax-explore", notebook.cell_output(2))
    assert "train_step: " in notebook.cell_output(3).inner_text()
    assert notebook.cell_output(4).inner_text().strip().endswith("False")
