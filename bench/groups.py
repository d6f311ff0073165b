"""The tables of ``make bench`` whose cases two sides answer in turn: which cases, where, and how slow they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import devices, eager, everyday, libraries, measured, written_out
from .cases import MODEL_CASES

_EIGHT_DEVICES = {"JAX_NUM_CPU_DEVICES": "8", "NPROC": "16"}
#: Threads of LAPACK's library wait by running: on two cores their spread is larger than what is compared.
_ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


class Group(NamedTuple):
    """A table: a short name, its title, the module that serves its cases, and their goals.

    A goal is the highest ratio that a case may have; ``goals`` has those of single cases, ``goal`` that of the others
    (None: they have none). ``calls`` is how many calls a case's seconds are of.
    """

    name: str
    title: str
    module: str
    cases: Sequence[str]
    goal: float | None = None
    goals: Mapping[str, float] = {}
    environment: Mapping[str, str] = {}
    rounds: int = 9
    calls: int = 1


_STAGE_GOALS = {
    "trace": 1 / 20,
    "grad_trace": 1 / 20,
    "vmap_grad_trace": 1 / 20,
    "lower": 1 / 8,
    "eager_grad": 0.1,
    "eager_index": 0.2,
    "eager_slice": 0.2,
    "eager_gather": 0.3,
    "eager_set": 0.3,
    "asarray_numpy": 0.5,
    "training_step": 1.02,
    "transformer_step": 0.75,
} | {case: 1 / 8 if case.endswith("lower") else 1 / 12 for case in MODEL_CASES}

_PARALLEL = [case for case in everyday.PROGRAMS if case.startswith("data_parallel")]

#: The same side twice, before all else: what differs is the machine's own spread.
OWN_SPREAD = Group(
    "own_spread",
    "A against A: the machine's own spread",
    "bench.measured",
    ("trace", "jit_dispatch", "lower a chain of 3000", "mlp_grad_trace", "step of mlp_50", "step of heat"),
)

GROUPS = (
    Group("stages", "Tracing, lowering without passes, dispatch", "bench.measured", measured.STAGES, 1.0, _STAGE_GOALS),
    Group("lowering", "Lowering with all passes, processor time", "bench.measured", measured.LOWERED, 0.5, rounds=5),
    Group("growth", "Lowering of longer and longer chains", "bench.measured", measured.GROWTH, 0.5, rounds=3),
    Group("eager", "Operations outside of jit", "bench.eager", eager.OPERATIONS, 1.0, rounds=7, calls=eager.CALLS),
    Group("eager_programs", "Programs that nothing jits", "bench.eager", eager.PROGRAMS, 0.5, eager.GOALS, rounds=7),
    Group(
        "first_calls", "First calls: trace, lower, compile, run", "bench.measured", measured.FIRST_CALLS, 1.0, rounds=3
    ),
    Group("steps", "Steps of the same programs", "bench.measured", measured.STEPS, 1.02, environment=_ONE_BLAS_THREAD),
    Group(
        "numpy_arguments",
        "Large NumPy arguments in each call, which our calls copy (coming_from_jax.md says why)",
        "bench.measured",
        measured.NUMPY_ARGUMENTS,
        1.0,
    ),
    Group(
        "libraries",
        "Compiled linear algebra, Fourier transforms and random numbers",
        "bench.libraries",
        libraries.CASES,
        1.05,
        environment=_ONE_BLAS_THREAD,
    ),
    Group(
        "written_out",
        "Compiled operations that are written out for CPUs",
        "bench.written_out",
        written_out.CASES,
        1.0,
        rounds=5,
    ),
    Group("devices", "On eight devices", "bench.devices", devices.CASES, 1.0, environment=_EIGHT_DEVICES),
    Group(
        "everyday",
        "Everyday programs: ten steps",
        "bench.everyday",
        [case for case in everyday.PROGRAMS if case not in _PARALLEL],
        1.02,
    ),
    Group(
        "everyday_parallel", "The same on eight devices", "bench.everyday", _PARALLEL, 1.0, environment=_EIGHT_DEVICES
    ),
)

#: Cases that need a process for each measurement, with their goals.
FRESH: Mapping[str, float | None] = {
    "import": 0.7,
    "first_step": 1.0,
    "first_call_cold": 1.0,
    "first_call_warm": 1.0,
    "first_result_cold": 1 / 3,
    "first_result_warm": 1 / 3,
}
