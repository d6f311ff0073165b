"""Operations by name, for tools that read types. Written by `make names`."""

from ..control.special.gamma import igamma as igamma
from ..control.special.gamma import igamma_grad_a as igamma_grad_a
from ..control.special.gamma import igammac as igammac
from ..control.special.gamma import random_gamma_grad as random_gamma_grad
from ..ir.operation import Primitive
from ..operations.arithmetic import abs as abs
from ..operations.arithmetic import add as add
from ..operations.arithmetic import div as div
from ..operations.arithmetic import integer_pow as integer_pow
from ..operations.arithmetic import mul as mul
from ..operations.arithmetic import rem as rem
from ..operations.arithmetic import sign as sign
from ..operations.arithmetic import square as square
from ..operations.arithmetic import sub as sub
from ..operations.bessel import bessel_i0e as bessel_i0e
from ..operations.bessel import bessel_i1e as bessel_i1e
from ..operations.bits import clz as clz
from ..operations.bits import mulhi as mulhi
from ..operations.bits import nextafter as nextafter
from ..operations.bits import population_count as population_count
from ..operations.bits import reduce_precision as reduce_precision
from ..operations.bits import shift_left as shift_left
from ..operations.bits import shift_right_arithmetic as shift_right_arithmetic
from ..operations.bits import shift_right_logical as shift_right_logical
from ..operations.comparisons import eq as eq
from ..operations.comparisons import ge as ge
from ..operations.comparisons import gt as gt
from ..operations.comparisons import le as le
from ..operations.comparisons import lt as lt
from ..operations.comparisons import ne as ne
from ..operations.complex_numbers import complex as complex
from ..operations.complex_numbers import conj as conj
from ..operations.complex_numbers import imag as imag
from ..operations.complex_numbers import real as real
from ..operations.conversion import bitcast_convert_type as bitcast_convert_type
from ..operations.conversion import convert_element_type as convert_element_type
from ..operations.convolution import conv_general_dilated as conv_general_dilated
from ..operations.cumulative import cumlogsumexp as cumlogsumexp
from ..operations.cumulative import cummax as cummax
from ..operations.cumulative import cummin as cummin
from ..operations.cumulative import cumprod as cumprod
from ..operations.cumulative import cumsum as cumsum
from ..operations.exponentials import cbrt as cbrt
from ..operations.exponentials import exp as exp
from ..operations.exponentials import exp2 as exp2
from ..operations.exponentials import expm1 as expm1
from ..operations.exponentials import log as log
from ..operations.exponentials import log1p as log1p
from ..operations.exponentials import logistic as logistic
from ..operations.exponentials import pow as pow
from ..operations.exponentials import rsqrt as rsqrt
from ..operations.exponentials import sqrt as sqrt
from ..operations.extremes import clamp as clamp
from ..operations.extremes import max as max
from ..operations.extremes import min as min
from ..operations.fourier import fft as fft
from ..operations.random_generators import rng_bit_generator as rng_bit_generator
from ..operations.random_generators import rng_uniform as rng_uniform
from ..operations.reductions import reduce_and as reduce_and
from ..operations.reductions import reduce_max as reduce_max
from ..operations.reductions import reduce_min as reduce_min
from ..operations.reductions import reduce_or as reduce_or
from ..operations.reductions import reduce_prod as reduce_prod
from ..operations.reductions import reduce_xor as reduce_xor
from ..operations.rounding import ceil as ceil
from ..operations.rounding import floor as floor
from ..operations.rounding import is_finite as is_finite
from ..operations.rounding import round as round
from ..operations.scaled_products import scaled_dot as scaled_dot
from ..operations.selection import mask_tangent as mask_tangent
from ..operations.selection import select_n as select_n
from ..operations.shapes import broadcast_in_dim as broadcast_in_dim
from ..operations.shapes import reduce_sum as reduce_sum
from ..operations.shapes import transpose as transpose
from ..operations.slicing import rev as rev
from ..operations.slicing import slice as slice
from ..operations.special import digamma as digamma
from ..operations.special import erf as erf
from ..operations.special import erf_inv as erf_inv
from ..operations.special import erfc as erfc
from ..operations.special import lgamma as lgamma
from ..operations.special import polygamma as polygamma
from ..operations.special import zeta as zeta
from ..operations.splitting import split as split
from ..operations.tangent_arithmetic import neg as neg
from ..operations.trigonometry import acos as acos
from ..operations.trigonometry import acosh as acosh
from ..operations.trigonometry import asin as asin
from ..operations.trigonometry import asinh as asinh
from ..operations.trigonometry import atan as atan
from ..operations.trigonometry import atan2 as atan2
from ..operations.trigonometry import atanh as atanh
from ..operations.trigonometry import cos as cos
from ..operations.trigonometry import cosh as cosh
from ..operations.trigonometry import sin as sin
from ..operations.trigonometry import sinh as sinh
from ..operations.trigonometry import tan as tan
from ..operations.trigonometry import tanh as tanh

abs_p: Primitive
acos_p: Primitive
acosh_p: Primitive
add_p: Primitive
add_any_p: Primitive
all_gather_p: Primitive
all_to_all_p: Primitive
and_p: Primitive
argmax_p: Primitive
argmin_p: Primitive
asin_p: Primitive
asinh_p: Primitive
atan_p: Primitive
atan2_p: Primitive
atanh_p: Primitive
axis_index_p: Primitive
bessel_i0e_p: Primitive
bessel_i1e_p: Primitive
bitcast_convert_type_p: Primitive
broadcast_in_dim_p: Primitive
cbrt_p: Primitive
ceil_p: Primitive
clamp_p: Primitive
clz_p: Primitive
complex_p: Primitive
composite_p: Primitive
concatenate_p: Primitive
cond_p: Primitive
conj_p: Primitive
consume_key_p: Primitive
conv_general_dilated_p: Primitive
convert_element_type_p: Primitive
copy_p: Primitive
cos_p: Primitive
cosh_p: Primitive
cumlogsumexp_p: Primitive
cummax_p: Primitive
cummin_p: Primitive
cumprod_p: Primitive
cumsum_p: Primitive
custom_jvp_call_p: Primitive
custom_lin_p: Primitive
custom_linear_solve_p: Primitive
custom_vjp_call_p: Primitive
custom_vmap_call_p: Primitive
dce_sink_p: Primitive
debug_callback_p: Primitive
digamma_p: Primitive
div_p: Primitive
dot_general_p: Primitive
dynamic_slice_p: Primitive
dynamic_update_slice_p: Primitive
eq_p: Primitive
erf_p: Primitive
erf_inv_p: Primitive
erfc_p: Primitive
exp_p: Primitive
exp2_p: Primitive
expm1_p: Primitive
fft_p: Primitive
floor_p: Primitive
gather_p: Primitive
ge_p: Primitive
gt_p: Primitive
igamma_p: Primitive
igamma_grad_a_p: Primitive
igammac_p: Primitive
imag_p: Primitive
in_double_p: Primitive
integer_pow_p: Primitive
io_callback_p: Primitive
iota_p: Primitive
is_finite_p: Primitive
le_p: Primitive
lgamma_p: Primitive
linear_call_p: Primitive
log_p: Primitive
log1p_p: Primitive
logistic_p: Primitive
lt_p: Primitive
mask_tangent_p: Primitive
max_p: Primitive
mesh_cast_p: Primitive
min_p: Primitive
mul_p: Primitive
mulhi_p: Primitive
name_p: Primitive
ne_p: Primitive
neg_p: Primitive
nextafter_p: Primitive
not_p: Primitive
optimization_barrier_p: Primitive
or_p: Primitive
pad_p: Primitive
pbroadcast_p: Primitive
pmax_p: Primitive
pmin_p: Primitive
polygamma_p: Primitive
population_count_p: Primitive
pow_p: Primitive
ppermute_p: Primitive
psum_p: Primitive
pure_callback_p: Primitive
pvary_p: Primitive
random_gamma_grad_p: Primitive
random_unwrap_p: Primitive
random_wrap_p: Primitive
real_p: Primitive
reduce_p: Primitive
reduce_and_p: Primitive
reduce_max_p: Primitive
reduce_min_p: Primitive
reduce_or_p: Primitive
reduce_precision_p: Primitive
reduce_prod_p: Primitive
reduce_scatter_p: Primitive
reduce_sum_p: Primitive
reduce_window_p: Primitive
reduce_window_max_p: Primitive
reduce_window_min_p: Primitive
reduce_window_sum_p: Primitive
reduce_xor_p: Primitive
regularized_incomplete_beta_p: Primitive
rem_p: Primitive
remat2_p: Primitive
repeated_p: Primitive
reshape_p: Primitive
rev_p: Primitive
rng_bit_generator_p: Primitive
rng_uniform_p: Primitive
round_p: Primitive
rsqrt_p: Primitive
scaled_dot_p: Primitive
scan_p: Primitive
scatter_p: Primitive
scatter_add_p: Primitive
scatter_max_p: Primitive
scatter_min_p: Primitive
scatter_mul_p: Primitive
scatter_sub_p: Primitive
select_and_gather_add_p: Primitive
select_and_scatter_add_p: Primitive
select_n_p: Primitive
shard_map_p: Primitive
sharding_constraint_p: Primitive
shift_left_p: Primitive
shift_right_arithmetic_p: Primitive
shift_right_logical_p: Primitive
sign_p: Primitive
sin_p: Primitive
sinh_p: Primitive
slice_p: Primitive
sort_p: Primitive
split_p: Primitive
sqrt_p: Primitive
square_p: Primitive
squeeze_p: Primitive
stop_gradient_p: Primitive
sub_p: Primitive
tan_p: Primitive
tanh_p: Primitive
threefry2x32_p: Primitive
top_k_p: Primitive
transpose_p: Primitive
unknown_tangents_p: Primitive
while_p: Primitive
xor_p: Primitive
zeta_p: Primitive
