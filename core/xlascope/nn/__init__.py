"""Functions that neural networks are made of."""

from ..names import explain_missing as _explain_missing
from . import initializers as initializers
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

_explain_missing(__name__)
