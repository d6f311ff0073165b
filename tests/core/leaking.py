"""Functions whose traced values outlive them, and what these are held by."""

import xlascope.numpy as jnp

kept: list = []
table: dict = {}


class Holder:
    pass


holder = Holder()


def in_a_list(x):
    kept.append(jnp.sin(x))
    return x * 2


def in_a_dict(x):
    table["x"] = x
    return x * 2


def in_an_attribute(x):
    holder.value = jnp.cos(x)
    return x * 2


def in_a_closure(x):
    kept.append(lambda: x)
    return x * 2
