"""Neural network functions: activations, normalizations, attention, initializers and scaled products."""

from ..names import explain_missing as _explain_missing
from . import initializers as initializers
from .activations import celu as celu
from .activations import glu as glu
from .activations import hard_sigmoid as hard_sigmoid
from .activations import hard_silu as hard_silu
from .activations import hard_swish as hard_swish
from .activations import hard_tanh as hard_tanh
from .activations import identity as identity
from .activations import log1mexp as log1mexp
from .activations import logmeanexp as logmeanexp
from .activations import mish as mish
from .activations import sparse_plus as sparse_plus
from .activations import sparse_sigmoid as sparse_sigmoid
from .activations import squareplus as squareplus
from .attention import dot_product_attention as dot_product_attention
from .functions import elu as elu
from .functions import gelu as gelu
from .functions import leaky_relu as leaky_relu
from .functions import log_sigmoid as log_sigmoid
from .functions import log_softmax as log_softmax
from .functions import logsumexp as logsumexp
from .functions import one_hot as one_hot
from .functions import relu as relu
from .functions import relu6 as relu6
from .functions import selu as selu
from .functions import sigmoid as sigmoid
from .functions import silu as silu
from .functions import soft_sign as soft_sign
from .functions import softmax as softmax
from .functions import softplus as softplus
from .functions import standardize as standardize
from .functions import swish as swish
from .functions import tanh as tanh
from .scaled_products import get_scaled_dot_general_config as get_scaled_dot_general_config
from .scaled_products import scaled_dot_general as scaled_dot_general
from .scaled_products import scaled_matmul as scaled_matmul

_explain_missing(__name__)
