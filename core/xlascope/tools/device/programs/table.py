"""The programs by name, those compared with jax first."""

from __future__ import annotations

from . import networks, numerics
from .engine import MakeProgram

PROGRAMS: dict[str, MakeProgram] = {
    "mlp": networks.mlp,
    "transformer": networks.transformer,
    "convolutions": networks.convolutions,
    "n-body": numerics.n_body,
    "loop": numerics.loop,
    "lstm": networks.lstm,
    "hmc": numerics.hmc,
    "fft": numerics.fourier,
    "linear algebra": numerics.linear_algebra,
    "half precision": numerics.half_precision,
}
