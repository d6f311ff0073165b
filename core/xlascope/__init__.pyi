"""The public names, for tools that read types; a test keeps them equal to the tables in ``__init__.py``."""

from typing import Any

from . import ad_checkpoint as ad_checkpoint
from . import core as core
from . import custom_batching as custom_batching
from . import custom_derivatives as custom_derivatives
from . import dtypes as dtypes
from . import errors as errors
from . import experimental as experimental
from . import extend as extend
from . import inspect as inspect
from . import interpreters as interpreters
from . import lax as lax
from . import lib as lib
from . import nn as nn
from . import numpy as numpy
from . import ops as ops
from . import random as random
from . import records as records
from . import test_util as test_util
from . import tree as tree
from . import tree_util as tree_util
from .api import ShapeDtypeStruct as ShapeDtypeStruct
from .api import block_until_ready as block_until_ready
from .api import clear_caches as clear_caches
from .api import device_get as device_get
from .api import device_put as device_put
from .api import eval_shape as eval_shape
from .api import grad as grad
from .api import hessian as hessian
from .api import jacfwd as jacfwd
from .api import jacobian as jacobian
from .api import jacrev as jacrev
from .api import jit as jit
from .api import jvp as jvp
from .api import linear_transpose as linear_transpose
from .api import linearize as linearize
from .api import make_jaxpr as make_jaxpr
from .api import value_and_grad as value_and_grad
from .api import vjp as vjp
from .api import vmap as vmap
from .control.closures import closure_convert as closure_convert
from .control.closures import custom_gradient as custom_gradient
from .control.custom_jvp import custom_jvp as custom_jvp
from .control.custom_vjp import custom_vjp as custom_vjp
from .control.policies import checkpoint_policies as checkpoint_policies
from .control.remat import checkpoint as checkpoint
from .control.remat import remat as remat
from .lax.array import Array as Array
from .settings import config as config
from .settings import disable_jit as disable_jit
from .settings import enable_x64 as enable_x64
from .tree_util import tree_all as tree_all
from .tree_util import tree_flatten as tree_flatten
from .tree_util import tree_leaves as tree_leaves
from .tree_util import tree_map as tree_map
from .tree_util import tree_multimap as tree_multimap
from .tree_util import tree_reduce as tree_reduce
from .tree_util import tree_structure as tree_structure
from .tree_util import tree_transpose as tree_transpose
from .tree_util import tree_unflatten as tree_unflatten
from .xla.backend import default_backend as default_backend
from .xla.backend import device_count as device_count
from .xla.backend import devices as devices
from .xla.backend import local_device_count as local_device_count
from .xla.backend import local_devices as local_devices
from .xla.backend import process_count as process_count
from .xla.backend import process_index as process_index

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
def unload_ipython_extension(shell: Any) -> None: ...
