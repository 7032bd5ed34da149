//! Scorers and intervention statistics, exactly as their official code defines them.
//!
//! Every metric carries its value, how many items it is over, and the value of each item, so that slices and
//! resampling need no second run. An average over nothing is `null`, never NaN. Figures are shares in 0..=1; per cent
//! is a matter of printing.

mod intervention;
mod metric;
mod short_answer;
mod simpleqa;
mod statistics;

pub use intervention::{Intervention, Transition, TransitionMatrix};
pub use metric::Metric;
pub use short_answer::{
    PrecisionRecall, exact_match, hotpot_exact_match, hotpot_f1, joint_hotpot, nq_exact_match,
    squad_exact_match, squad_f1, supporting_facts, token_f1,
};
pub use simpleqa::{Grade, OFFLINE_GRADER, SimpleQaScore, cohen_kappa, grade_offline};
pub use statistics::{Interval, auroc, mcnemar_exact, wilson};
