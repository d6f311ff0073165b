"""Eight schools, sampled by numpyro's NUTS."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.reparam import TransformReparam

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(errors, effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", len(errors)), numpyro.handlers.reparam(config={"theta": TransformReparam()}):
        moved = dist.transforms.AffineTransform(mu, tau)
        theta = numpyro.sample("theta", dist.TransformedDistribution(dist.Normal(0, 1), moved))
        numpyro.sample("obs", dist.Normal(theta, errors), obs=effects)


mcmc = MCMC(NUTS(eight_schools, target_accept_prob=0.9), num_warmup=300, num_samples=300, progress_bar=False)
mcmc.run(jax.random.key(0), ERRORS, effects=EFFECTS, extra_fields=("potential_energy",))
samples = mcmc.get_samples()
print({name: float(np.mean(values)) for name, values in samples.items()})
print("energy", float(mcmc.get_extra_fields()["potential_energy"].mean()))
predicted = Predictive(eight_schools, samples)(jax.random.key(1), ERRORS)["obs"]
print("predicted", float(predicted.mean()))
