"""Former location of :mod:`xlascope.example_libraries.optimizers`."""

from ..example_libraries.optimizers import JoinPoint as JoinPoint
from ..example_libraries.optimizers import Optimizer as Optimizer
from ..example_libraries.optimizers import OptimizerState as OptimizerState
from ..example_libraries.optimizers import adagrad as adagrad
from ..example_libraries.optimizers import adam as adam
from ..example_libraries.optimizers import adamax as adamax
from ..example_libraries.optimizers import clip_grads as clip_grads
from ..example_libraries.optimizers import constant as constant
from ..example_libraries.optimizers import exponential_decay as exponential_decay
from ..example_libraries.optimizers import inverse_time_decay as inverse_time_decay
from ..example_libraries.optimizers import l2_norm as l2_norm
from ..example_libraries.optimizers import make_schedule as make_schedule
from ..example_libraries.optimizers import momentum as momentum
from ..example_libraries.optimizers import nesterov as nesterov
from ..example_libraries.optimizers import optimizer as optimizer
from ..example_libraries.optimizers import pack_optimizer_state as pack_optimizer_state
from ..example_libraries.optimizers import piecewise_constant as piecewise_constant
from ..example_libraries.optimizers import polynomial_decay as polynomial_decay
from ..example_libraries.optimizers import rmsprop as rmsprop
from ..example_libraries.optimizers import rmsprop_momentum as rmsprop_momentum
from ..example_libraries.optimizers import sgd as sgd
from ..example_libraries.optimizers import sm3 as sm3
from ..example_libraries.optimizers import unpack_optimizer_state as unpack_optimizer_state
from ..names import explain_missing as _explain_missing

_explain_missing(__name__)
