"""Components of programs, functions to walk and run them, and custom primitives."""

from ...api.jaxpr_utils import array_types as array_types
from ...api.jaxpr_utils import eval_jaxpr as eval_jaxpr
from ...api.jaxpr_utils import jaxpr_as_fun as jaxpr_as_fun
from ...api.jaxpr_utils import jaxprs_in_params as jaxprs_in_params
from ...api.jaxpr_utils import mapped_aval as mapped_aval
from ...api.jaxpr_utils import subjaxprs as subjaxprs
from ...api.jaxpr_utils import unmapped_aval as unmapped_aval
from ...core import Atom as Atom
from ...core import ClosedJaxpr as ClosedJaxpr
from ...core import Jaxpr as Jaxpr
from ...core import JaxprEqn as JaxprEqn
from ...core import Literal as Literal
from ...core import Primitive as Primitive
from ...core import ShapedArray as ShapedArray
from ...core import Tracer as Tracer
from ...core import Var as Var
from ...core import check_jaxpr as check_jaxpr
from ...errors import JaxprTypeError as JaxprTypeError
from ...trace.values import is_value
from . import primitives as primitives

valid_jaxtype = is_value
