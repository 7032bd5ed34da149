//! The methods: each verb of counterproof is a module that depends on the seams of `counterproof-core` alone, so that
//! a method never names an engine or a vendor.
//!
//! * [`repair`]: is this short answer right, and if not, what is? (CounterRefine)
//! * [`answers`]: what are all the answers to this question? (RI²VER)
//! * [`check`]: does the evidence support this claim, refute it, or settle nothing? (R2VC)

pub mod answers;
mod bound;
pub mod check;
mod ledger;
mod pool;
mod prompts;
pub mod repair;
mod ruled;
mod weighing;

pub use bound::upper_bound;
pub use ledger::Ledger;
pub use ruled::Ruled;
