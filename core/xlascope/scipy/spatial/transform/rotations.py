"""Rotations in three dimensions, one or a stack, and spherical interpolation between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .... import numpy as jnp
from .... import random
from ....trace.source import here
from ...arguments import promote_dtypes_inexact
from . import quaternions

_RADIANS_PER_DEGREE = math.pi / 180


class Rotation(NamedTuple):
    """Rotation in three dimensions, or a stack, as unit quaternions (x, y, z, w), shape ``(4,)`` or ``(n, 4)``.

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
        """Create rotations from quaternions (x, y, z, w), shape ``(…, 4)``, of any nonzero length."""
        return cls(quaternions.normalize(quaternions.require_vectors("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Create rotations from rotation matrices, shape ``(…, 3, 3)``."""
        return cls(quaternions.from_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Create rotations from rotation vectors (axis times angle), shape ``(…, 3)``, in radians or ``degrees``."""
        (rotvec,) = promote_dtypes_inexact(rotvec)
        return cls(quaternions.from_rotvec(rotvec * _RADIANS_PER_DEGREE if degrees else rotvec))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Create rotations from modified Rodrigues parameters, shape ``(…, 3)``."""
        return cls(quaternions.from_mrp(mrp))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Create rotations from Euler angles about the axes of ``seq``.

        Lower-case axes ("xyz") are extrinsic, upper-case ones ("XYZ") intrinsic. ``angles`` has as many elements
        along its last axis as there are axes. Raises ValueError for other axes.
        """
        axes, intrinsic = quaternions.parse_axis_sequence(seq)
        (angles,) = promote_dtypes_inexact(angles)
        return cls(
            quaternions.from_euler(angles * _RADIANS_PER_DEGREE if degrees else angles, axes=axes, intrinsic=intrinsic)
        )

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Return the identity rotation, or ``num`` of them."""
        quaternion = jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype)
        return cls(quaternion if num is None else jnp.broadcast_to(quaternion, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Return a uniformly distributed random rotation, or ``num`` of them."""
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Return several rotations as one stack."""
        return cls(jnp.concatenate([jnp.atleast_2d(rotation.quat) for rotation in rotations], 0))

    @property
    def single(self) -> bool:
        """Return whether this is one rotation and not a stack."""
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
        """Return the composition of rotations: first ``other``, then this one."""
        return Rotation(quaternions.multiply(self.quat, other.quat))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Return quaternions.

        With ``canonical``, of the two quaternions of a rotation the one with w ≥ 0; with ``scalar_first`` in the
        order (w, x, y, z).
        """
        q = self.quat
        if canonical:
            q = jnp.where(q[..., 3:] < 0, -q, q)
        return jnp.concatenate([q[..., 3:], q[..., :3]], -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return rotation matrices, shape ``(…, 3, 3)``."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return rotation vectors (axis times angle), shape ``(…, 3)``."""
        rotvec = quaternions.to_rotvec(self.quat)
        return rotvec / _RADIANS_PER_DEGREE if degrees else rotvec

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters, shape ``(…, 3)``."""
        return quaternions.to_mrp(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Return Euler angles about the three axes of ``seq``, shape ``(…, 3)``; see :meth:`from_euler`."""
        axes, intrinsic = quaternions.parse_axis_sequence(seq)
        if len(axes) != 3:
            raise ValueError(f"angles are about three axes, got {seq!r}{here()}")
        angles = quaternions.to_euler(self.quat, axes=axes, intrinsic=intrinsic)
        return angles / _RADIANS_PER_DEGREE if degrees else angles

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return vectors, shape ``(…, 3)``, rotated; with ``inverse`` by the inverse rotation."""
        matrix = self.as_matrix()
        (v,) = promote_dtypes_inexact(quaternions.require_vectors("apply", vectors, 3))
        matrix = jnp.swapaxes(matrix, -1, -2) if inverse else matrix
        return jnp.matmul(matrix, v[..., None], precision="highest")[..., 0]

    def inv(self) -> Rotation:
        """Return the inverse rotation."""
        return Rotation(jnp.concatenate([-self.quat[..., :3], self.quat[..., 3:]], -1))

    def magnitude(self) -> Any:
        """Return the rotation angles, from 0 to π."""
        lengths = jnp.sqrt(jnp.sum(self.quat[..., :3] ** 2, -1))
        return 2 * jnp.arctan2(lengths, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """Return the mean of a stack: it minimizes the weighted sum of squared distances of the rotation matrices."""
        q = jnp.atleast_2d(self.quat)
        w = jnp.ones(q.shape[0], q.dtype) if weights is None else jnp.asarray(weights, q.dtype)
        if w.shape != (q.shape[0],):
            raise ValueError(f"there is a weight for each of {q.shape[0]} rotations, got shape {w.shape}{here()}")
        _, eigenvectors = jnp.linalg.eigh(jnp.matmul(q.T * w, q, precision="highest"))
        return Rotation.from_quat(eigenvectors[:, -1])


class Slerp(NamedTuple):
    """Spherical linear interpolation through a stack of rotations at given times.

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
        """Create an interpolator through a stack of rotations at ascending times; raise ValueError for other sizes."""
        if not isinstance(rotations, Rotation):
            raise TypeError(f"rotations of Slerp is a Rotation, got {type(rotations).__name__}{here()}")
        if rotations.single or len(rotations) < 2:
            raise ValueError(f"rotations of Slerp is a stack of at least two{here()}")
        (times,) = promote_dtypes_inexact(times)
        if times.shape != (len(rotations),):
            raise ValueError(f"Slerp takes a time for each of {len(rotations)} rotations, got {times.shape}{here()}")
        starts, ends = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """Return the rotations at times within the given range."""
        (t,) = promote_dtypes_inexact(times)
        # at a given time use the interval that ends there, as in JAX; this determines the sign of the quaternion
        interval = jnp.clip(jnp.searchsorted(self.times, t, side="left") - 1, 0, self.timedelta.shape[0] - 1)
        fraction = (t - self.times[interval]) / self.timedelta[interval]
        step = quaternions.from_rotvec(self.rotvecs[interval] * fraction[..., None])
        return Rotation(quaternions.multiply(self.rotations.quat[interval], step))
