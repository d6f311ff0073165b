"""The sampler needs cosmic-ray, which the extra `mutation` brings: without it its examples are left out."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("cosmic_ray") else ["__main__.py", "sampling.py"]
