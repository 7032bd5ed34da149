//! The command line of counterproof.

fn main() {}
