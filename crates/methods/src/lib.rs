//! The verbs: repair (CounterRefine), with its gates, rules and ablations.
