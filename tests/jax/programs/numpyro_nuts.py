"""A logistic regression with numpyro's NUTS, and what it predicts."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive


def simulated(count=20_000, features=32):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(count, features)).astype(np.float32)
    chance = 1 / (1 + np.exp(-(x @ generator.normal(size=features)) - 0.5))
    return x, (generator.uniform(size=count) < chance).astype(np.int32)


def model(x, y=None):
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("features", x.shape[1]):
        weights = numpyro.sample("weights", dist.Normal(0.0, scale))
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 2.0))
    logits = jnp.dot(x, weights) + intercept
    with numpyro.plate("people", len(x)):
        return numpyro.sample("y", dist.Bernoulli(logits=logits), obs=y)


x, y = simulated()
mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
mcmc.run(jax.random.key(0), x, y, extra_fields=("num_steps",))
samples = mcmc.get_samples()
print({name: float(np.mean(values)) for name, values in samples.items()})
print("steps", int(mcmc.get_extra_fields()["num_steps"].sum()))
predicted = Predictive(model, samples)(jax.random.key(1), x)["y"]
print("right", float((predicted.mean(axis=0).round() == y).mean()))
