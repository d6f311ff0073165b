module @"jit_noise.1" {
 func.func public @main() -> tensor<64x64xf32> {
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %0:2 = "stablehlo.rng_bit_generator"(%state) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<64x64xui32>) loc("jit(noise)/e0/random_bits")
  %1 = stablehlo.convert %0#1 : (tensor<64x64xui32>) -> tensor<64x64xf32> loc("jit(noise)/e1/convert_element_type")
  %2 = stablehlo.sine %1 : tensor<64x64xf32> loc("jit(noise)/e2/sin")
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(noise)/e3/dot_general")
  return %3 : tensor<64x64xf32>
 }
}
