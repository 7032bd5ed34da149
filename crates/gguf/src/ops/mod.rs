//! The arithmetic of a transformer on the CPU: quantised matrices that stay in the file's memory map, products with
//! them, and the elementwise functions between. Numbers between the layers are `f32` throughout: activations are never
//! quantised, so that a token's probability does not depend on how the work was split into passes.

mod matrix;
pub(crate) mod quant;
mod simd;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use matrix::{Matrix, Strided, gemm_f32, multiply};
pub(crate) use simd::SharedOut;
pub(crate) use vector::{
    add_assign, add_scaled, dot, gelu_mul, log_sum_exp, rms_norm, scale, silu_mul, softmax,
};
