module @jit_f {
 func.func public @main(%a: tensor<64x128xf32>, %b: tensor<128x10xf32>) -> (tensor<64x10xf32>, tensor<64x10xf32>) {
  %0 = stablehlo.exponential %a : tensor<64x128xf32> loc("jit(f)/e0/exp"("cell.py":1:2))
  %1 = func.call @loss(%0, %b) : (tensor<64x128xf32>, tensor<128x10xf32>) -> tensor<64x10xf32> loc("jit(f)/e12/jit(loss)"("cell.py":3:2))
  %2 = stablehlo.sine %a : tensor<64x128xf32> loc("jit(f)/e13/sin"("cell.py":4:2))
  %3 = func.call @loss(%2, %b) : (tensor<64x128xf32>, tensor<128x10xf32>) -> tensor<64x10xf32> loc("jit(f)/e14/jit(loss)"("cell.py":5:2))
  return %1, %3 : tensor<64x10xf32>, tensor<64x10xf32>
 }
 func.func private @loss(%a: tensor<64x128xf32>, %b: tensor<128x10xf32>) -> tensor<64x10xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x10xf32>) -> tensor<64x10xf32> loc("e4/dot_general"("cell.py":7:2))
  %1 = stablehlo.tanh %0 : tensor<64x10xf32> loc("e5/tanh"("cell.py":8:2))
  %2 = func.call @relu(%1) : (tensor<64x10xf32>) -> tensor<64x10xf32> loc("e6/jit(relu)"("cell.py":8:2))
  return %2 : tensor<64x10xf32>
 }
 func.func private @relu(%a: tensor<64x10xf32>) -> tensor<64x10xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<64x10xf32>
  %1 = stablehlo.maximum %a, %c : tensor<64x10xf32> loc("e0/max"("cell.py":8:2))
  return %1 : tensor<64x10xf32>
 }
}
