module @jit_w {
 func.func public @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %i0, %x = %a) : tensor<i32>, tensor<64x64xf32>
   cond { %n = stablehlo.constant dense<1000> : tensor<i32>
     %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("jit(w)/e3/while_cond/e0/lt")
     stablehlo.return %p : tensor<i1> } 
   do { %one = stablehlo.constant dense<1> : tensor<i32>
     %j = stablehlo.add %i, %one : tensor<i32> loc("jit(w)/e3/body/e0/add")
     %y = func.call @g(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(w)/e3/body/e1/jit(g)")
     stablehlo.return %j, %y : tensor<i32>, tensor<64x64xf32> } loc("jit(w)/e3/while")
  return %0#1 : tensor<64x64xf32>
 }
 func.func private @g(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("e0/dot_general")
  %s = stablehlo.sine %1 : tensor<64x64xf32> loc("e1/sin")
  %r = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32> loc("e2/reduce_sum")
  %b = stablehlo.broadcast_in_dim %r, dims=[0] : (tensor<64xf32>) -> tensor<64x64xf32> loc("e3/broadcast_in_dim")
  return %b : tensor<64x64xf32>
 }
}
