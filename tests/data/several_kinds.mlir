module @jit_split {
 func.func public @main(%a: tensor<64x64xf32>, %i: tensor<5xi32>) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<5xi32>, tensor<64x64xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.sine %a : tensor<64x64xf32> loc("jit(split)/e0/sin")
  %1 = stablehlo.multiply %0, %a : tensor<64x64xf32> loc("jit(split)/e1/mul")
  %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32> loc("jit(split)/e2/reduce_sum")
  %3 = "stablehlo.sort"(%i) ({ ^bb0(%x: tensor<i32>, %y: tensor<i32>): 
     %p = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %p : tensor<i1> }) {dimension = 0 : i64} : (tensor<5xi32>) -> tensor<5xi32> loc("jit(split)/e3/sort")
  %f = stablehlo.reshape %a : (tensor<64x64xf32>) -> tensor<64x1x64xf32> loc("jit(split)/e4/reshape")
  %g = stablehlo.reshape %f : (tensor<64x1x64xf32>) -> tensor<64x64xf32> loc("jit(split)/e5/reshape")
  %h = stablehlo.cholesky %g, lower = true : tensor<64x64xf32> loc("jit(split)/e6/cholesky")
  return %1, %2, %3, %h : tensor<64x64xf32>, tensor<64xf32>, tensor<5xi32>, tensor<64x64xf32>
 }
}
