//! Whatever a model replies, the parser reads it without panicking, and reading what it read changes nothing.

#![no_main]

use counterproof_models::reply::{Label, Parsed, Reply, Scale, split_reasoning};
use libfuzzer_sys::fuzz_target;

const LABELS: [Label; 3] =
    [Label::line("DECISION").or(&["决定"]), Label::line("ANSWER").or(&["答案"]), Label::block("EVIDENCE")];

fuzz_target!(|data: (&str, &str, bool)| {
    let (text, given, cut_off) = data;
    let _ = split_reasoning(text);
    let reply = Reply::new(text).excluding(&[given]).cut_off(cut_off);
    let _ = reply.choice(&["KEEP", "REVISE", "yes", "no", "是"]);
    let _ = reply.rating(Scale::new(0.0, 3.0));
    let _ = reply.verdicts(&["1", "2", "10"], &["yes", "no"]);
    if let Parsed::Read(fields) = reply.fields(&LABELS) {
        let _ = fields.choice("DECISION", &["KEEP", "REVISE"]);
    }
    if let Parsed::Read(json) = Reply::new(text).json() {
        let again = Reply::new(&json.value.to_string()).json();
        let Parsed::Read(again) = again else { panic!("what was read cannot be read again: {again:?}") };
        assert_eq!(again.value, json.value);
        assert!(again.repairs.is_empty(), "{:?}", again.repairs);
    }
});
