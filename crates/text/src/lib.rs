//! Reading text deterministically: normalisation, sentences, question types, values, overlap. English and Chinese.
