"""Rotations of space, one or a stack, and the way from one to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .... import numpy as jnp
from .... import random
from ....trace.source import here
from ...arguments import floats_of_any_shape
from . import quaternions

_DEGREES = math.pi / 180


class Rotation(NamedTuple):
    """A rotation of space, or a stack of them, as quaternions (x, y, z, w) of length 1, shape ``(4,)`` or ``(n, 4)``.

    It is made by the functions whose names begin with ``from_``.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_euler("z", 90, degrees=True)
    >>> print(turn.apply(jnp.array([1.0, 0.0, 0.0])).round(3) + 0.0)
    [0. 1. 0.]
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """By quaternions (x, y, z, w), shape ``(…, 4)``, of any length but 0."""
        return cls(quaternions.normalized(quaternions.vectors("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """By rotation matrices, shape ``(…, 3, 3)``."""
        return cls(quaternions.from_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """By axes times angles, shape ``(…, 3)``, in radians or ``degrees``."""
        (rotvec,) = floats_of_any_shape(rotvec)
        return cls(quaternions.from_rotvec(rotvec * _DEGREES if degrees else rotvec))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """By modified Rodrigues parameters, shape ``(…, 3)``."""
        return cls(quaternions.from_mrp(mrp))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """By angles about the axes of ``seq``, one after the other: "xyz" as they stand, "XYZ" as they were turned.

        ``angles`` has as many numbers along its last axis as there are axes. Raises ValueError for other axes.
        """
        axes, intrinsic = quaternions.axes_of_sequence(seq)
        (angles,) = floats_of_any_shape(angles)
        return cls(quaternions.from_euler(angles * _DEGREES if degrees else angles, axes=axes, intrinsic=intrinsic))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that moves nothing, or ``num`` of them."""
        one = jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype)
        return cls(one if num is None else jnp.broadcast_to(one, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation, or ``num`` of them, all equally likely."""
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Several as one stack."""
        return cls(jnp.concatenate([jnp.atleast_2d(each.quat) for each in rotations], 0))

    @property
    def single(self) -> bool:
        """Whether it is one rotation and no stack."""
        return bool(self.quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single Rotation has no length")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: Any) -> Any:
        if self.single:
            raise TypeError("a single Rotation has no parts")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Any) -> Any:
        """The rotation by ``other``, then by this one."""
        return Rotation(quaternions.product(self.quat, other.quat))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Quaternions, of the two for a rotation with ``canonical`` that with w ≥ 0, with ``scalar_first`` w first."""
        q = self.quat
        if canonical:
            q = jnp.where(q[..., 3:] < 0, -q, q)
        return jnp.concatenate([q[..., 3:], q[..., :3]], -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Matrices, shape ``(…, 3, 3)``."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Axes times angles, shape ``(…, 3)``."""
        found = quaternions.to_rotvec(self.quat)
        return found / _DEGREES if degrees else found

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters, shape ``(…, 3)``."""
        return quaternions.to_mrp(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Angles about the three axes of ``seq``, shape ``(…, 3)``; see :meth:`from_euler`."""
        axes, intrinsic = quaternions.axes_of_sequence(seq)
        if len(axes) != 3:
            raise ValueError(f"angles are about three axes, got {seq!r}{here()}")
        found = quaternions.to_euler(self.quat, axes=axes, intrinsic=intrinsic)
        return found / _DEGREES if degrees else found

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors, shape ``(…, 3)``, turned; with ``inverse`` turned back."""
        matrix = self.as_matrix()
        (v,) = floats_of_any_shape(quaternions.vectors("apply", vectors, 3))
        matrix = jnp.swapaxes(matrix, -1, -2) if inverse else matrix
        return jnp.matmul(matrix, v[..., None], precision="highest")[..., 0]

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation(jnp.concatenate([-self.quat[..., :3], self.quat[..., 3:]], -1))

    def magnitude(self) -> Any:
        """The angles, from 0 to π."""
        lengths = jnp.sqrt(jnp.sum(self.quat[..., :3] ** 2, -1))
        return 2 * jnp.arctan2(lengths, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """The mean of a stack: the rotation with the least weighed sum of squared distances of matrices."""
        q = jnp.atleast_2d(self.quat)
        w = jnp.ones(q.shape[0], q.dtype) if weights is None else jnp.asarray(weights, q.dtype)
        if w.shape != (q.shape[0],):
            raise ValueError(f"there is a weight for each of {q.shape[0]} rotations, got shape {w.shape}{here()}")
        _, turned = jnp.linalg.eigh(jnp.matmul(q.T * w, q, precision="highest"))
        return Rotation.from_quat(turned[:, -1])


class Slerp(NamedTuple):
    """The way through a stack of rotations at given times, each step about one axis at one speed.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.spatial.transform import Rotation, Slerp
    >>> turns = Rotation.from_euler("z", jnp.array([0.0, 90.0]), degrees=True)
    >>> print(Slerp.init(jnp.array([0.0, 1.0]), turns)(0.5).as_euler("xyz", degrees=True).round(2) + 0.0)
    [ 0.  0. 45.]
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """The way through ``rotations``, a stack, at rising ``times``; raises ValueError where they do not fit."""
        if not isinstance(rotations, Rotation):
            raise TypeError(f"rotations of Slerp is a Rotation, got {type(rotations).__name__}{here()}")
        if rotations.single or len(rotations) < 2:
            raise ValueError(f"rotations of Slerp is a stack of at least two{here()}")
        (times,) = floats_of_any_shape(times)
        if times.shape != (len(rotations),):
            raise ValueError(f"Slerp takes a time for each of {len(rotations)} rotations, got {times.shape}{here()}")
        before, behind = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), before, (before.inv() * behind).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at those times, within the ones given."""
        (t,) = floats_of_any_shape(times)
        # at one of the times it ends the step before, as in JAX: which of a quaternion's two signs comes out
        place = jnp.clip(jnp.searchsorted(self.times, t, side="left") - 1, 0, self.timedelta.shape[0] - 1)
        part = (t - self.times[place]) / self.timedelta[place]
        step = quaternions.from_rotvec(self.rotvecs[place] * part[..., None])
        return Rotation(quaternions.product(self.rotations.quat[place], step))
