//! The methods: each verb of counterproof is a module that depends on the seams of `counterproof-core` alone, so that
//! a method never names an engine or a vendor.
//!
//! * [`repair`]: is this short answer right, and if not, what is? (CounterRefine)
//! * [`check`]: does the evidence support this claim, refute it, or settle nothing? (R2VC)

mod bound;
pub mod check;
mod ledger;
pub mod repair;
mod ruled;

pub use bound::upper_bound;
pub use ledger::Ledger;
pub use ruled::Ruled;
