module @jit_p {
 func.func public @main(%a: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.sine %a : tensor<2048x2048xf32> loc("jit(p)/e0/sin")
  %t = stablehlo.tanh %s : tensor<2048x2048xf32> loc("jit(p)/e1/tanh")
  %r = stablehlo.reduce(%t init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32> loc("jit(p)/e2/reduce_sum")
  return %t, %r : tensor<2048x2048xf32>, tensor<2048xf32>
 }
}
