"""The names of settings: a program for jax alone."""


def names(lib):
    values = dict(lib.config.values)
    plain = {k: v for k, v in values.items() if type(v) in (bool, int, float, str, type(None))}
    plain |= {
        k: v.value for k, v in values.items() if type(v).__name__ in ("NumpyDtypePromotion", "LegacyPrngKeyState")
    }
    return sorted(values), plain
