//! Scorers and intervention statistics, exactly as their official code defines them.
