"""Derivatives of grouped convolutions on eight devices, by the arrays' shardings."""

import numpy as np

#: Features, results and size of the kernel.
CONVOLUTIONS = {"depthwise": (4, 4, 3), "two results for each": (4, 8, 3), "large": (16, 16, 17), "groups": (8, 8, 3)}
SPECS = {"batch": ("x",), "both": ("x", None, None, "y"), "rows": (None, "x")}


def differences(lib):
    """Return by convolution and sharding how far the derivative by the kernel is from that on one device."""
    mesh = lib.sharding.Mesh(np.array(lib.devices()).reshape(4, 2), ("x", "y"))
    random, found = np.random.default_rng(0), {}
    for name, (features, results, size) in CONVOLUTIONS.items():
        groups = 2 if name == "groups" else features
        x, weights = (random.standard_normal((8, 20, 20, n)).astype("float32") for n in (features, results))
        kernel = np.zeros((size, size, features // groups, results), "float32")

        def loss(kernel, x, weights, groups=groups):
            numbers, strides = ("NHWC", "HWIO", "NHWC"), (1, 1)
            y = lib.lax.conv_general_dilated(
                x, kernel, strides, "SAME", dimension_numbers=numbers, feature_group_count=groups
            )
            return (y * weights).sum()

        gradient = lib.jit(lib.grad(loss))
        whole = np.asarray(gradient(kernel, x, weights))
        for spec, axes in SPECS.items():
            sharding = lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec(*axes))
            parts = np.asarray(gradient(kernel, *(lib.device_put(each, sharding) for each in (x, weights))))
            found[name, spec] = float(np.abs(parts - whole).max() / np.abs(whole).max())
    return found
