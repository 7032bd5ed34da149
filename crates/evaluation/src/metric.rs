//! A figure with the items it was made from.

use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, wilson};

/// A mean over items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The mean; `None` over no items.
    pub value: Option<f64>,
    /// How many items.
    pub n: usize,
    /// The value of each item, in the order given.
    pub items: Vec<f64>,
}

impl Metric {
    /// The mean of `items`.
    pub fn mean(items: Vec<f64>) -> Self {
        let n = items.len();
        let value =
            if n == 0 { None } else { Some(items.iter().sum::<f64>() / n as f64).filter(|v| v.is_finite()) };
        Self { value, n, items }
    }

    /// The share of items that hold.
    pub fn share(items: impl IntoIterator<Item = bool>) -> Self {
        Self::mean(items.into_iter().map(|hit| f64::from(u8::from(hit))).collect())
    }

    /// The 95 % Wilson interval; `None` over no items, or when an item is neither 0 nor 1.
    pub fn wilson(&self) -> Option<Interval> {
        if !self.items.iter().all(|x| *x == 0.0 || *x == 1.0) {
            return None;
        }
        let hits = self.items.iter().filter(|x| **x == 1.0).count();
        wilson(hits as u64, self.n as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_mean_is_null() {
        let none = Metric::mean(Vec::new());
        assert_eq!(none.value, None);
        assert_eq!(none.wilson(), None);
        assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"value":null,"n":0,"items":[]}"#);
    }

    #[test]
    fn a_mean_keeps_its_items() {
        let metric = Metric::share([true, false, true, true]);
        assert_eq!((metric.value, metric.n), (Some(0.75), 4));
        assert_eq!(metric.items, [1.0, 0.0, 1.0, 1.0]);
        assert!(metric.wilson().is_some());
        assert!(Metric::mean(vec![0.5]).wilson().is_none());
    }
}
