//! The methods: each verb of counterproof is a module that depends on the seams of `counterproof-core` alone, so that
//! a method never names an engine or a vendor.
//!
//! * [`repair`]: is this short answer right, and if not, what is? (CounterRefine)

pub mod repair;
