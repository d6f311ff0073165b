"""Matrix factorizations and triangular solves, on stacks of matrices."""

from ..names import explain_missing as _explain_missing
from ..operations.linalg.cholesky import Cholesky as _Cholesky
from ..operations.linalg.cholesky import cholesky as cholesky
from ..operations.linalg.general_eigenvalues import Eig as _Eig
from ..operations.linalg.general_eigenvalues import EigImplementation as EigImplementation
from ..operations.linalg.general_eigenvalues import Hessenberg as _Hessenberg
from ..operations.linalg.general_eigenvalues import Schur as _Schur
from ..operations.linalg.general_eigenvalues import eig as eig
from ..operations.linalg.general_eigenvalues import hessenberg as hessenberg
from ..operations.linalg.general_eigenvalues import schur as schur
from ..operations.linalg.hermitian_eigenvalues import Eigh as _Eigh
from ..operations.linalg.hermitian_eigenvalues import EighImplementation as EighImplementation
from ..operations.linalg.hermitian_eigenvalues import Tridiagonal as _Tridiagonal
from ..operations.linalg.hermitian_eigenvalues import eigh as eigh
from ..operations.linalg.hermitian_eigenvalues import tridiagonal as tridiagonal
from ..operations.linalg.householder import HouseholderProduct as _HouseholderProduct
from ..operations.linalg.householder import Ormqr as _Ormqr
from ..operations.linalg.householder import householder_product as householder_product
from ..operations.linalg.householder import ormqr as ormqr
from ..operations.linalg.lu import LU as _LU
from ..operations.linalg.lu import LUPivotsToPermutation as _LUPivotsToPermutation
from ..operations.linalg.lu import lu as lu
from ..operations.linalg.lu import lu_pivots_to_permutation as lu_pivots_to_permutation
from ..operations.linalg.qr import Qr as _Qr
from ..operations.linalg.qr import qr as qr
from ..operations.linalg.singular_values import Svd as _Svd
from ..operations.linalg.singular_values import SvdAlgorithm as SvdAlgorithm
from ..operations.linalg.singular_values import svd as svd
from ..operations.linalg.triangular import TriangularSolve as _TriangularSolve
from ..operations.linalg.triangular import triangular_solve as triangular_solve
from ..operations.linalg.tridiagonal import TridiagonalSolve as _TridiagonalSolve
from ..operations.linalg.tridiagonal import tridiagonal_solve as tridiagonal_solve
from .matrix_updates import cholesky_update as cholesky_update
from .matrix_updates import symmetric_product as symmetric_product
from .polar import qdwh as qdwh

cholesky_p = _Cholesky.primitive
eig_p = _Eig.primitive
eigh_p = _Eigh.primitive
hessenberg_p = _Hessenberg.primitive
householder_product_p = _HouseholderProduct.primitive
lu_p = _LU.primitive
lu_pivots_to_permutation_p = _LUPivotsToPermutation.primitive
ormqr_p = _Ormqr.primitive
qr_p = _Qr.primitive
schur_p = _Schur.primitive
svd_p = _Svd.primitive
triangular_solve_p = _TriangularSolve.primitive
tridiagonal_p = _Tridiagonal.primitive
tridiagonal_solve_p = _TridiagonalSolve.primitive

_explain_missing(__name__)
