"""The handle of each operation, as ``eqn.primitive`` gives it: ``sin_p`` and its siblings."""

from __future__ import annotations

from ..control.checkpoint.remat import Name, Remat
from ..control.flow.cond import Cond
from ..control.flow.scan import Scan
from ..control.flow.while_loop import While
from ..control.rules.custom_jvp_call import CustomJVPCall
from ..control.rules.custom_vjp_call import CustomLin, CustomVJPCall
from ..control.rules.custom_vmap_call import CustomVmapCall
from ..control.rules.linear_call import LinearCall
from ..control.rules.linear_solve import LinearSolve
from ..operations import (
    arithmetic,
    barriers,
    bits,
    callbacks,
    collectives,
    complex_numbers,
    cumulative,
    elementwise,
    indexing,
    linear_algebra,
    random_bits,
    reductions,
    scattering,
    shapes,
    sorting,
    special,
)

add_p = arithmetic.Add.primitive
and_p = arithmetic.And.primitive
atan2_p = arithmetic.Atan2.primitive
clamp_p = arithmetic.Clamp.primitive
div_p = arithmetic.Div.primitive
eq_p = arithmetic.Eq.primitive
ge_p = arithmetic.Ge.primitive
gt_p = arithmetic.Gt.primitive
le_p = arithmetic.Le.primitive
lt_p = arithmetic.Lt.primitive
max_p = arithmetic.Max.primitive
min_p = arithmetic.Min.primitive
mul_p = arithmetic.Mul.primitive
ne_p = arithmetic.Ne.primitive
or_p = arithmetic.Or.primitive
pow_p = arithmetic.Pow.primitive
rem_p = arithmetic.Rem.primitive
select_n_p = arithmetic.SelectN.primitive
shift_left_p = arithmetic.ShiftLeft.primitive
shift_right_arithmetic_p = arithmetic.ShiftRightArithmetic.primitive
shift_right_logical_p = arithmetic.ShiftRightLogical.primitive
sub_p = arithmetic.Sub.primitive
xor_p = arithmetic.Xor.primitive
all_gather_p = collectives.AllGather.primitive
all_to_all_p = collectives.AllToAll.primitive
axis_index_p = collectives.AxisIndex.primitive
pbroadcast_p = collectives.PBroadcast.primitive
pmax_p = collectives.PMax.primitive
pmin_p = collectives.PMin.primitive
ppermute_p = collectives.PPermute.primitive
psum_p = collectives.PSum.primitive
reduce_scatter_p = collectives.ReduceScatter.primitive
complex_p = complex_numbers.Complex.primitive
conj_p = complex_numbers.Conj.primitive
imag_p = complex_numbers.Imag.primitive
real_p = complex_numbers.Real.primitive
abs_p = elementwise.Abs.primitive
acos_p = elementwise.Acos.primitive
acosh_p = elementwise.Acosh.primitive
asin_p = elementwise.Asin.primitive
asinh_p = elementwise.Asinh.primitive
atan_p = elementwise.Atan.primitive
atanh_p = elementwise.Atanh.primitive
bitcast_convert_type_p = elementwise.BitcastConvertType.primitive
cbrt_p = elementwise.Cbrt.primitive
ceil_p = elementwise.Ceil.primitive
convert_element_type_p = elementwise.ConvertElementType.primitive
cos_p = elementwise.Cos.primitive
cosh_p = elementwise.Cosh.primitive
erf_p = elementwise.Erf.primitive
erf_inv_p = elementwise.ErfInv.primitive
exp_p = elementwise.Exp.primitive
exp2_p = elementwise.Exp2.primitive
expm1_p = elementwise.Expm1.primitive
floor_p = elementwise.Floor.primitive
integer_pow_p = elementwise.IntegerPow.primitive
is_finite_p = elementwise.IsFinite.primitive
log_p = elementwise.Log.primitive
log1p_p = elementwise.Log1p.primitive
logistic_p = elementwise.Logistic.primitive
neg_p = elementwise.Neg.primitive
not_p = elementwise.Not.primitive
round_p = elementwise.Round.primitive
rsqrt_p = elementwise.Rsqrt.primitive
sign_p = elementwise.Sign.primitive
sin_p = elementwise.Sin.primitive
sinh_p = elementwise.Sinh.primitive
sqrt_p = elementwise.Sqrt.primitive
square_p = elementwise.Square.primitive
stop_gradient_p = elementwise.StopGradient.primitive
tan_p = elementwise.Tan.primitive
tanh_p = elementwise.Tanh.primitive
add_any_p = shapes.AddAny.primitive
broadcast_in_dim_p = shapes.BroadcastInDim.primitive
concatenate_p = shapes.Concatenate.primitive
iota_p = shapes.Iota.primitive
pad_p = shapes.Pad.primitive
reduce_sum_p = shapes.ReduceSum.primitive
reshape_p = shapes.Reshape.primitive
rev_p = shapes.Rev.primitive
slice_p = shapes.Slice.primitive
squeeze_p = shapes.Squeeze.primitive
transpose_p = shapes.Transpose.primitive
argmax_p = reductions.ArgMax.primitive
argmin_p = reductions.ArgMin.primitive
cumprod_p = reductions.CumProd.primitive
cumsum_p = reductions.CumSum.primitive
reduce_and_p = reductions.ReduceAnd.primitive
reduce_max_p = reductions.ReduceMax.primitive
reduce_min_p = reductions.ReduceMin.primitive
reduce_or_p = reductions.ReduceOr.primitive
reduce_prod_p = reductions.ReduceProd.primitive
dynamic_slice_p = indexing.DynamicSlice.primitive
dynamic_update_slice_p = indexing.DynamicUpdateSlice.primitive
gather_p = indexing.Gather.primitive
scatter_p = indexing.Scatter.primitive
scatter_add_p = indexing.ScatterAdd.primitive
dot_general_p = linear_algebra.DotGeneral.primitive
threefry2x32_p = random_bits.Threefry2x32.primitive
sort_p = sorting.Sort.primitive
cond_p = Cond.primitive
scan_p = Scan.primitive
while_p = While.primitive
optimization_barrier_p = barriers.OptimizationBarrier.primitive
copy_p = barriers.Copy.primitive
population_count_p = bits.PopulationCount.primitive
clz_p = bits.CountLeadingZeros.primitive
nextafter_p = bits.NextAfter.primitive
mulhi_p = bits.MulHi.primitive
reduce_precision_p = bits.ReducePrecision.primitive
cummax_p = cumulative.CumMax.primitive
cummin_p = cumulative.CumMin.primitive
cumlogsumexp_p = cumulative.CumLogSumExp.primitive
reduce_xor_p = reductions.ReduceXor.primitive
scatter_sub_p = scattering.ScatterSub.primitive
scatter_mul_p = scattering.ScatterMul.primitive
scatter_min_p = scattering.ScatterMin.primitive
scatter_max_p = scattering.ScatterMax.primitive
lgamma_p = special.Lgamma.primitive
digamma_p = special.Digamma.primitive
erfc_p = special.Erfc.primitive
bessel_i1e_p = special.BesselI1e.primitive
polygamma_p = special.Polygamma.primitive
zeta_p = special.Zeta.primitive
top_k_p = sorting.TopK.primitive
custom_jvp_call_p = CustomJVPCall.primitive
custom_lin_p = CustomLin.primitive
custom_linear_solve_p = LinearSolve.primitive
linear_call_p = LinearCall.primitive
pure_callback_p = callbacks.PureCallback.primitive
io_callback_p = callbacks.IOCallback.primitive
debug_callback_p = callbacks.DebugCallback.primitive
custom_vjp_call_p = CustomVJPCall.primitive
custom_vmap_call_p = CustomVmapCall.primitive
name_p = Name.primitive
remat2_p = Remat.primitive
