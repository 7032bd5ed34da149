//! Finding evidence: corpus readers, the embedded hybrid index, fusion.
