//! Numbers, dates, ranges and quantities of a text, compared by what they say and not by how they are written.
//!
//! `Jan 15, 1967` is the day `1967年1月15日`, `4.523 million` the number `4,523,000`. What a way of writing leaves open
//! (is `03/04/2019` in March or April?) stays open: comparing it answers [`Comparison::Ambiguous`].

mod chinese;
mod compare;
mod date;
mod decimal;
mod facts;
mod model;
mod number;
mod parse;
mod unit;

pub use compare::{Comparison, compare};
pub use decimal::Decimal;
pub use facts::{anchors, has_number_marker, has_time_marker, years};
pub use model::{Date, Found, Number, Quantity, Range, Season, Value, Years};
pub use parse::values;
pub use unit::Unit;

#[cfg(test)]
mod tests;
