"""Unit quaternions (x, y, z, w) along the last axis, and conversions between them and other forms of rotations."""

from __future__ import annotations

import itertools
import math
from typing import Any

from .... import numpy as jnp
from ....numpy.jit_wrapped import jit_wrapped
from ....trace.source import here
from ...arguments import promote_args_inexact, promote_dtypes_inexact, to_strong_type


def require_vectors(name: str, x: Any, size: int) -> Any:
    """Return a floating-point array with ``size`` elements along its last axis; raise ValueError for others.

    ``name`` is the function's name, for the message.
    """
    (x,) = promote_dtypes_inexact(x)
    if not x.ndim or x.shape[-1] != size:
        raise ValueError(f"{name} takes {size} numbers along the last axis, got shape {x.shape}{here()}")
    return x


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(x * x, -1, keepdims=True))


@jit_wrapped()
def normalize(q: Any) -> Any:
    """Return quaternions scaled to length 1."""
    (q,) = promote_args_inexact(q)
    return q / _norm(q)


@jit_wrapped()
def multiply(p: Any, q: Any) -> Any:
    """Return the quaternions of composed rotations: first ``q``, then ``p``."""
    p, q = promote_args_inexact(p, q)
    a, b = p[..., :3], q[..., :3]
    v, w = p[..., 3:], q[..., 3:]
    scalar = v * w - jnp.sum(a * b, -1, keepdims=True)
    return normalize(jnp.concatenate([v * b + w * a + jnp.cross(a, b), scalar], -1))


@jit_wrapped()
def to_matrix(q: Any) -> Any:
    """Return the rotation matrices of quaternions, shape ``(…, 3, 3)``."""
    x, y, z, w = (q[..., i] for i in range(4))
    xx, yy, zz, ww = x * x, y * y, z * z, w * w  # 1 - 2 (…) would double the error of the norm
    rows = [
        [xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), yy - xx - zz + ww, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), zz - xx - yy + ww],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


@jit_wrapped()
def from_matrix(m: Any) -> Any:
    """Return quaternions of rotation matrices.

    The component that is largest is computed first (S. W. Shepperd, J. Guidance 1, 1978).
    """
    (m,) = promote_dtypes_inexact(m)
    if m.ndim < 2 or m.shape[-2:] != (3, 3):
        raise ValueError(f"a rotation is a matrix of shape (3, 3), got shape {m.shape}{here()}")
    d = [m[..., i, i] for i in range(3)]
    trace = d[0] + d[1] + d[2]
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        components = [None] * 4
        components[i] = 1 - trace + 2 * d[i]
        components[j] = m[..., j, i] + m[..., i, j]
        components[k] = m[..., k, i] + m[..., i, k]
        components[3] = m[..., k, j] - m[..., j, k]
        candidates.append(jnp.stack(components, -1))
    from_trace = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace]
    candidates.append(jnp.stack(from_trace, -1))
    largest = jnp.argmax(jnp.stack([*d, trace], -1), -1)[..., None, None]
    return normalize(jnp.take_along_axis(jnp.stack(candidates, -2), largest, -2)[..., 0, :])


@jit_wrapped()
def to_rotvec(q: Any) -> Any:
    """Return the rotation vectors (axis times angle) of quaternions, shape ``(…, 3)``."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    squares = jnp.sum(q[..., :3] ** 2, -1, keepdims=True)
    small = squares < 1e-8
    length = jnp.sqrt(jnp.where(small, 1, squares))
    # angle / sin(angle / 2) near 0: 2 + s²/3 with the sine s
    factor = jnp.where(small, 2 + squares / 3, 2 * jnp.arctan2(length, q[..., 3:]) / length)
    return factor * q[..., :3]


@jit_wrapped()
def from_rotvec(v: Any) -> Any:
    """Return quaternions of rotation vectors (axis times angle)."""
    v = require_vectors("from_rotvec", v, 3)
    squares = jnp.sum(v * v, -1, keepdims=True)
    small = squares < 1e-6
    angle = jnp.sqrt(jnp.where(small, 1, squares))
    factor = jnp.where(small, 0.5 - squares / 48 + squares * squares / 3840, jnp.sin(angle / 2) / angle)
    scalar = jnp.where(small, 1 - squares / 8 + squares * squares / 384, jnp.cos(angle / 2))
    return normalize(jnp.concatenate([factor * v, scalar], -1))


@jit_wrapped()
def to_mrp(q: Any) -> Any:
    """Return the modified Rodrigues parameters of quaternions: axis times the tangent of a quarter of the angle."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


@jit_wrapped()
def from_mrp(p: Any) -> Any:
    """Return quaternions of modified Rodrigues parameters."""
    p = require_vectors("from_mrp", p, 3)
    squares = jnp.sum(p * p, -1, keepdims=True)
    return normalize(jnp.concatenate([2 * p, 1 - squares], -1) / (1 + squares))


def parse_axis_sequence(seq: Any) -> tuple[str, bool]:
    """Return the lower-case axes of a sequence, and whether it is intrinsic (upper case).

    Raises ValueError for anything else than one to three axes without repetitions in a row.
    """
    if not isinstance(seq, str) or not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"a sequence of axes is one to three of 'xyz', or of 'XYZ', got {seq!r}{here()}")
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ValueError(f"a sequence of axes has no axis twice in a row, got {seq!r}{here()}")
    return seq.lower(), seq.isupper()


@jit_wrapped("axes", "intrinsic")
def from_euler(angles: Any, axes: str, intrinsic: bool) -> Any:
    """Return quaternions of successive rotations about axes, by angles in radians along the last axis.

    ``axes`` are one to three of x, y and z; ``intrinsic`` says that they turn with the rotated object.
    """
    angles = to_strong_type(promote_args_inexact(angles)[0])
    if len(axes) == 1 and (not angles.ndim or angles.shape[-1] != 1):
        angles = angles[..., None]
    if not angles.ndim or angles.shape[-1] != len(axes):
        raise ValueError(f"there is an angle for each of {len(axes)} axes, got shape {angles.shape}{here()}")
    result = None
    for i, axis in enumerate(axes):
        half = angles[..., i] / 2
        components = [jnp.zeros_like(half)] * 3 + [jnp.cos(half)]
        components["xyz".index(axis)] = jnp.sin(half)
        turn = jnp.stack(components, -1)
        result = turn if result is None else multiply(result, turn) if intrinsic else multiply(turn, result)
    return result


@jit_wrapped("axes", "intrinsic")
def to_euler(q: Any, axes: str, intrinsic: bool) -> Any:
    """Return Euler angles of quaternions about three axes, in radians, shape ``(…, 3)``.

    ``axes`` and ``intrinsic`` are those of :func:`from_euler`. (E. Bernardes and S. Viollet, "Quaternion to Euler
    angles conversion", PLOS ONE 17, 2022.)
    """
    i, j, k = ("xyz".index(axis) for axis in (axes[::-1] if intrinsic else axes))
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    if symmetric:
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    else:
        a, b = q[..., 3] - q[..., j], q[..., i] + q[..., k] * sign
        c, d = q[..., j] + q[..., 3], q[..., k] * sign - q[..., i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    middle_is_zero, middle_is_pi = jnp.abs(middle) <= 1e-7, jnp.abs(middle - math.pi) <= 1e-7
    gimbal_lock_angle = 2 * half_difference * (1 if intrinsic else -1)
    first, third = half_sum - half_difference, half_sum + half_difference
    if intrinsic:
        first, third = third, first
    first = jnp.where(middle_is_zero, 2 * half_sum, jnp.where(middle_is_pi, gimbal_lock_angle, first))
    third = jnp.where(middle_is_zero | middle_is_pi, 0, third)
    if not symmetric:
        middle = middle - math.pi / 2
        first, third = (first * sign, third) if intrinsic else (first, third * sign)
    angles = jnp.stack([first, middle, third], -1)
    angles = jnp.where(angles < -math.pi, angles + 2 * math.pi, angles)
    return jnp.where(angles > math.pi, angles - 2 * math.pi, angles)
