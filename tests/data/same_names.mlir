module @jit_f {
 func.func public @main(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = func.call @g(%a) : (tensor<64xf32>) -> tensor<64xf32> loc("jit(f)/e0/jit(g)")
  return %0 : tensor<64xf32>
 }
 func.func private @g(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = func.call @g_1(%a) : (tensor<64xf32>) -> tensor<64xf32> loc("e0/jit(g_1)")
  %1 = stablehlo.sine %0 : tensor<64xf32> loc("e1/sin")
  return %1 : tensor<64xf32>
 }
 func.func private @g_1(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = func.call @g_2(%a) : (tensor<64xf32>) -> tensor<64xf32> loc("e0/jit(g_2)")
  %1 = stablehlo.cosine %0 : tensor<64xf32> loc("e1/cos")
  return %1 : tensor<64xf32>
 }
 func.func private @g_2(%a: tensor<64xf32>) -> tensor<64xf32> {
  %1 = stablehlo.tanh %a : tensor<64xf32> loc("e0/tanh[\"é \\]")
  return %1 : tensor<64xf32>
 }
}
