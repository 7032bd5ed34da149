//! Scorers and intervention statistics, exactly as their official code defines them.
//!
//! Every metric carries its value, how many items it is over, and the value of each item, so that slices and
//! resampling need no second run. An average over nothing is `null`, never NaN. Figures are shares in 0..=1
//! unless they say otherwise; per cent is a matter of printing.

pub mod answer_sets;

mod calibration;
mod classification;
mod fever;
mod intervention;
mod metric;
mod selective;
mod short_answer;
mod simpleqa;
mod statistics;

pub use calibration::{
    Binning, Forecast, ReliabilityBin, adaptive_ece, brier, confidence_auroc, ece, mce, nll, reliability,
};
pub use classification::{ClassScore, ConfusionMatrix, label_accuracy};
pub use fever::{FEVER_MAX_EVIDENCE, FeverClaim, FeverScore};
pub use intervention::{Intervention, Transition, TransitionMatrix};
pub use metric::Metric;
pub use selective::{RiskCoverage, RiskPoint, SelectiveScore, effective_score};
pub use short_answer::{
    PrecisionRecall, exact_match, hotpot_exact_match, hotpot_f1, joint_hotpot, nq_exact_match,
    squad_exact_match, squad_f1, supporting_facts, token_f1,
};
pub use simpleqa::{Grade, OFFLINE_GRADER, SimpleQaScore, cohen_kappa, grade_offline};
pub use statistics::{Interval, auroc, bootstrap, mcnemar_exact, wilson};
