"""Rotations of space."""

import runpy
from pathlib import Path

ROWS = """
transform.Rotation.from_quat(jnp.array([1.0, 2.0, 3.0, 4.0])).as_matrix()
transform.Rotation.from_rotvec(y).as_quat()
transform.Rotation.from_rotvec(y * 1e-5).as_quat()
transform.Rotation.from_rotvec(y * 30, degrees=True).as_rotvec()
transform.Rotation.from_rotvec(m[:, :3]).as_matrix()
transform.Rotation.from_matrix(jnp.linalg.qr(s)[0] * jnp.linalg.det(jnp.linalg.qr(s)[0])).as_matrix()
transform.Rotation.from_mrp(y / 9).as_quat()
transform.Rotation.from_rotvec(y).as_mrp()
transform.Rotation.from_rotvec(y).as_rotvec(degrees=True)
transform.Rotation.from_euler("xyz", x).as_quat()
transform.Rotation.from_euler("ZYX", y).as_matrix()
transform.Rotation.from_euler("z", 45, degrees=True).as_matrix()
transform.Rotation.from_euler("xyx", m[:, :3] / 8).as_matrix()
transform.Rotation.from_rotvec(y).as_euler("xyz")
transform.Rotation.from_rotvec(y).as_euler("ZYX", degrees=True)
transform.Rotation.from_rotvec(y).as_euler("zxz")
transform.Rotation.from_rotvec(m[:, :3] / 4).as_euler("XYZ")
transform.Rotation.from_euler("xx", y[:2])
transform.Rotation.from_rotvec(y).apply(x)
transform.Rotation.from_rotvec(y).apply(x, inverse=True)
transform.Rotation.from_rotvec(y).apply(m[:, :3])
transform.Rotation.from_rotvec(y).inv().as_quat()
transform.Rotation.from_rotvec(m[:, :3]).magnitude()
transform.Rotation.from_rotvec(m[:, :3] / 9).mean().as_matrix()
(transform.Rotation.from_rotvec(x) * transform.Rotation.from_rotvec(y)).as_matrix()
transform.Rotation.identity().as_quat()
transform.Rotation.identity(2).as_matrix()
transform.Rotation.concatenate([transform.Rotation.from_rotvec(v) for v in (x, y)]).as_quat()
transform.Rotation.random(library.random.key(0), 2).magnitude().shape
transform.Rotation.from_rotvec(m[:, :3])[1].as_quat()
transform.Rotation.from_rotvec(-y).as_quat(canonical=True, scalar_first=True)
transform.Slerp.init(y, transform.Rotation.from_rotvec(m[:, :3] / 9))(p + 0.5).as_matrix()
library.grad(lambda a: transform.Rotation.from_rotvec(a).apply(x).sum())(y)
"""

KNOWN = {
    "transform.Rotation.identity(2).as_matrix()": "several identities are a stack; jax fails",
    "transform.Rotation.random(library.random.key(0), 2).magnitude().shape": "several are a stack; jax has one only",
    "transform.Rotation.concatenate([transform.Rotation.from_rotvec(v) for v in (x, y)]).as_quat()": (
        "single rotations make a stack, as in SciPy; jax joins their numbers"
    ),
}
#: A shape is no array.
EAGER = {"transform.Rotation.random(library.random.key(0), 2).magnitude().shape"}

every = runpy.run_path(str(Path(__file__).parents[1] / "expressions.py"))["every_of"](ROWS)
