"""Histograms of several variables; types of less than a byte."""

ROWS = """
jnp.histogram2d(x, p)
jnp.histogram2d(x, p, 3)
jnp.histogram2d(x, p, [2, 4])
jnp.histogram2d(x, p, (2, jnp.array([0.0, 1.0, 4.0])))
jnp.histogram2d(x, p, jnp.array([-2.0, 0.0, 1.0, 4.0]))
jnp.histogram2d(x, p, 3, range=((-1, 1), (0, 2)))
jnp.histogram2d(x, p, 3, weights=p)
jnp.histogram2d(x, p, 3, density=True)
jnp.histogram2d(i, k, 3)
jnp.histogram2d(m, m)
jnp.histogramdd(m, 2)[0]
jnp.histogramdd(m, 2)[1]
jnp.histogramdd(m[:, :2], [2, 3])[0]
jnp.histogramdd(m[:, :2], [2, 3], density=True)[0]
jnp.histogramdd(m[:, :2], 2, weights=i)[0]
jnp.histogramdd(m[:, :2], 2, range=[(-4, 0), (0, 3)])[0]
jnp.histogramdd(m[:, :2], 2, range=[None, (0, 3)])[0]
jnp.histogramdd(m[:, :2], [2, 3, 4])
jnp.histogramdd(x, 2)
jnp.int4(3)
jnp.uint4(3)
jnp.int2(1)
jnp.uint2(1)
jnp.float8_e4m3(1.5)
jnp.float8_e3m4(1.5)
jnp.float8_e4m3b11fnuz(1.5)
jnp.float8_e4m3fnuz(1.5)
jnp.float8_e5m2fnuz(1.5)
jnp.float8_e8m0fnu(2.0)
jnp.float4_e2m1fn(1.5)
x.astype(jnp.float8_e4m3fnuz)
"""
