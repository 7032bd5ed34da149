//! One source for each kernel, compiled twice on x86-64: for any processor, and for those with AVX2, FMA and F16C,
//! chosen when the program runs. The loops are written so that the compiler vectorises them; there are no intrinsics.

/// Defines a function whose body is compiled for plain and for AVX2 processors. Inside, `FMA` says whether a fused
/// multiply-add is one instruction.
macro_rules! vectorized {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$fma:ident>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<const $fma: bool>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    body::<true>($($arg),*)
                }
                if crate::ops::simd::has_avx2() {
                    // SAFETY: the processor was just seen to have the features that `avx2` was compiled for.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body::<{ cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}
pub(super) use vectorized;

#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// `a * b + c`, fused where that is one instruction.
#[inline(always)]
pub(super) fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// A matrix that several threads write to, each in its own columns.
#[derive(Clone, Copy)]
pub(crate) struct SharedOut<'a> {
    start: *mut f32,
    len: usize,
    life: std::marker::PhantomData<&'a mut [f32]>,
}

// SAFETY: a `SharedOut` is only a pointer into a slice that is mutably borrowed for its whole life; the contract of
// `span` keeps threads from touching the same numbers.
unsafe impl Send for SharedOut<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedOut<'_> {}

impl<'a> SharedOut<'a> {
    pub(crate) fn new(out: &'a mut [f32]) -> Self {
        Self { start: out.as_mut_ptr(), len: out.len(), life: std::marker::PhantomData }
    }

    /// Where the numbers from `at` on lie, of which there are at least `len`.
    ///
    /// # Panics
    /// When they are fewer.
    pub(crate) fn pointer(&self, at: usize, len: usize) -> *mut f32 {
        assert!(
            at <= self.len && len <= self.len - at,
            "a span of {len} at {at} leaves {} numbers",
            self.len
        );
        // SAFETY: `at` is within the slice, or just at its end, by the assertion.
        unsafe { self.start.add(at) }
    }

    /// The `len` numbers from `at` on.
    ///
    /// # Safety
    /// No two threads may hold spans that overlap at the same time.
    ///
    /// # Panics
    /// When the span leaves the slice.
    #[allow(clippy::mut_from_ref)] // The contract above takes the place of the borrow checker.
    pub(crate) unsafe fn span(&self, at: usize, len: usize) -> &mut [f32] {
        // SAFETY: within the slice by the check in `pointer`, and not shared by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(at, len), len) }
    }
}
