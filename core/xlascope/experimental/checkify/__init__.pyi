"""The public names, the one list of them."""

from .check_operation import check as check
from .check_operation import check_error as check_error
from .check_operation import debug_check as debug_check
from .errors import Error as Error
from .errors import ErrorCategory as ErrorCategory
from .errors import JaxRuntimeError as JaxRuntimeError
from .errors import all_checks as all_checks
from .errors import automatic_checks as automatic_checks
from .errors import div_checks as div_checks
from .errors import float_checks as float_checks
from .errors import index_checks as index_checks
from .errors import init_error as init_error
from .errors import nan_checks as nan_checks
from .errors import user_checks as user_checks
from .transformation import checkify as checkify
