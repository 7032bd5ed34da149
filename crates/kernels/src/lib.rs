//! The arithmetic that encoders are made of, in single precision, for the widest vectors that the processor has.
//!
//! Inference and training share these kernels. Nothing here knows a model: there are matrices laid out as
//! [`matrix::Panels`], rows of numbers, and what is done to them. Every function chooses the instruction set when it
//! is called, so that one binary runs fast on old and new processors alike; each works on one thread, as callers
//! divide their work by texts.

pub mod activation;
pub mod dropout;
pub mod matrix;
pub mod norm;
pub mod softmax;
pub mod vector;

use rten_simd::{Isa, SimdOp};

/// Runs `f` compiled for the widest instruction set that the processor has: the loops that are inlined into it become
/// vector code of that width.
#[inline(always)]
fn wide<R>(f: impl FnOnce() -> R) -> R {
    struct Wide<F>(F);
    impl<R, F: FnOnce() -> R> SimdOp for Wide<F> {
        type Output = R;
        #[inline(always)]
        fn eval<I: Isa>(self, _: I) -> R {
            (self.0)()
        }
    }
    Wide(f).dispatch()
}
