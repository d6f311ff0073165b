"""Programs as people write them, 30 steps each: jax's losses, a known number of compilations, and no more memory with
each step.

`python -m bench.everyday` compares their steps per second with jax's.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest
from tests import compiling, oracle
from tests.everyday.everyday_programs import PROGRAMS
from tests.everyday.isolation import run_all

EVERYDAY = Path(__file__).with_name("everyday_programs.py")
#: How far a loss may be from jax's, relative to it. The sampler decides by comparing energies of some 30.
RTOL = 5e-5
#: How often each jitted function of a program is compiled, and at most how many operations outside of them.
COMPILATIONS = {
    "changed_learning_rate": ({"update": 2}, 1),
    "checkpoints": ({"adam": 1}, 9),
    "data_parallel_jit": ({"update": 1}, 0),
    "data_parallel_pmap": ({"update": 2}, 3),
    "data_parallel_shard_map": ({"update": 2}, 0),
    "dropout": ({"update": 1}, 20),
    "early_stopping": ({"loss_fn": 2}, 8),
    "evaluation": ({"update": 1, "predict": 1}, 3),
    "gan": ({"update_discriminator": 1, "update_generator": 1}, 22),
    "gradient_accumulation": ({"loss_and_grad": 1}, 14),
    "hamiltonian_monte_carlo": ({"hmc_step": 1}, 1),
    "learning_rate_schedule": ({"update": 1}, 1),
    "logged_loss": ({"step_fn": 1}, 2),
    "ode_fit": ({"solve": 1, "update": 1}, 2),
}
#: What is compiled after the first six steps: for a new static argument.
LATE = {"changed_learning_rate": {"update": 1}}
#: Blocks of Python's memory that a step may take: the loss is kept, an array and its attributes.
BLOCKS_PER_LOSS = 20


@pytest.fixture(scope="module")
def outcomes():
    environment = compiling.quickly(keep=False) | {"XLASCOPE_NUM_CPU_DEVICES": "8"}
    return run_all("tests.everyday.program_process", {name: name for name in PROGRAMS}, environment)


@pytest.fixture(scope="module")
def losses_of_jax():
    return oracle.ask(EVERYDAY, "compute_losses", {"num_cpu_devices": "8"})


@pytest.fixture
def outcome(outcomes, name):
    found = outcomes[name]
    assert found["status"] == "passed", found["text"]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_those_of_jax(name, outcome, losses_of_jax):
    np.testing.assert_allclose(outcome["losses"], losses_of_jax[name], rtol=RTOL)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compilations(name, outcome):
    own, others = COMPILATIONS[name]
    compiled = outcome["compiled"]
    assert {function: compiled.get(function, 0) for function in own} == own
    assert sum(compiled.values()) - sum(own.values()) <= others, compiled
    assert outcome["late"] == LATE.get(name, {})


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_does_not_grow(name, outcome):
    for before, after in itertools.pairwise(outcome["held"]):
        if before["compiled"] == after["compiled"]:
            assert after["arrays"] <= before["arrays"], outcome["held"]
            assert after["objects"] <= before["objects"], outcome["held"]
            assert after["blocks"] <= before["blocks"] + 6 * BLOCKS_PER_LOSS, outcome["held"]
