//! The commands, one file each.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod calibrator;
pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod index;
pub(crate) mod models;
pub(crate) mod repair;
pub(crate) mod search;
pub(crate) mod train;
