//! So many a minute: a token bucket that reserves, waits its turn, and is corrected afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets at most a given amount through in any minute.
///
/// A bucket of capacity `c` that fills at rate `r` lets through at most `c + 60 r` in a minute; `c` is a tenth of what
/// is allowed, and `r` makes up the rest, so that the bound holds from the first minute on. Whoever comes reserves its
/// amount at once, running the bucket into debt if need be, and waits until the debt before it is paid off: turns are
/// kept in the order in which they were asked for.
#[derive(Debug)]
pub(super) struct Limiter {
    bucket: Mutex<Bucket>,
}

/// The arithmetic of it, at times that are given.
#[derive(Debug)]
struct Bucket {
    capacity: f64,
    per_second: f64,
    level: f64,
    at: Instant,
}

/// An amount that was reserved. Dropped before it was used, it goes back.
#[derive(Debug)]
pub(super) struct Reserved<'l> {
    limiter: &'l Limiter,
    amount: f64,
    used: bool,
}

impl Bucket {
    fn new(per_minute: f64, now: Instant) -> Self {
        let per_minute = per_minute.max(1.0);
        let capacity = (per_minute / 10.0).max(1.0);
        // One a minute leaves nothing for the rate; then the bucket fills once a minute.
        let per_second = ((per_minute - capacity) / 60.0).max(1.0 / 60.0);
        Self { capacity, per_second, level: capacity, at: now }
    }

    /// Changes the level at `now`, up to the capacity.
    fn change(&mut self, by: f64, now: Instant) {
        let filled = now.saturating_duration_since(self.at).as_secs_f64() * self.per_second;
        self.level = ((self.level + filled).min(self.capacity) + by).min(self.capacity);
        self.at = now;
    }

    /// Takes `amount` and says how long to wait before it may be used.
    fn take(&mut self, amount: f64, now: Instant) -> Duration {
        self.change(-amount, now);
        Duration::try_from_secs_f64((-self.level / self.per_second).max(0.0)).unwrap_or(Duration::MAX)
    }
}

impl Limiter {
    /// A limiter that lets `per_minute` (at least one) through.
    pub(super) fn new(per_minute: f64) -> Self {
        Self { bucket: Mutex::new(Bucket::new(per_minute, Instant::now())) }
    }

    /// Reserves `amount` and waits until it may be used.
    pub(super) async fn reserve(&self, amount: f64) -> Reserved<'_> {
        let wait = self.bucket().take(amount, Instant::now());
        let reserved = Reserved { limiter: self, amount, used: false };
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        reserved
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved<'_> {
    /// The amount is used up, whatever comes of it.
    pub(super) fn spend(&mut self) {
        self.used = true;
    }

    /// What was really used is known: the difference goes back, or is owed.
    pub(super) fn settle(mut self, used: f64) {
        self.used = true;
        self.limiter.bucket().change(self.amount - used, Instant::now());
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.limiter.bucket().change(self.amount, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn no_minute_lets_more_through_than_allowed() {
        let start = Instant::now();
        let mut bucket = Bucket::new(60.0, start);
        // One after another, each as soon as it may.
        let mut now = start;
        let mut times = Vec::new();
        for _ in 0..200 {
            now += bucket.take(1.0, now);
            times.push(now);
        }
        for (i, first) in times.iter().enumerate() {
            let within = times[i..].iter().filter(|t| **t - *first < 60 * SECOND).count();
            assert!(within <= 60, "{within} from {i}");
        }
        assert!(times[199] - start < 230 * SECOND, "{:?}", times[199] - start);
    }

    #[test]
    fn those_who_come_at_once_wait_in_turn() {
        let now = Instant::now();
        let mut bucket = Bucket::new(600.0, now);
        let waits: Vec<f64> = (0..3).map(|_| bucket.take(60.0, now).as_secs_f64().round()).collect();
        // The bucket holds 60 and fills by nine a second.
        assert_eq!(waits, [0.0, 7.0, 13.0]);
    }

    #[test]
    fn what_was_used_besides_is_owed_and_what_was_not_goes_back() {
        let now = Instant::now();
        let mut bucket = Bucket::new(600.0, now);
        assert_eq!(bucket.take(60.0, now), Duration::ZERO);
        bucket.change(60.0 - 150.0, now);
        assert!((bucket.take(0.0, now).as_secs_f64() - 10.0).abs() < 0.01);
        bucket.change(1000.0, now);
        assert_eq!(bucket.take(60.0, now), Duration::ZERO);
        assert!(bucket.take(1.0, now) > Duration::ZERO);
    }

    #[tokio::test]
    async fn who_stops_waiting_gives_its_turn_back() {
        let limiter = Limiter::new(600.0);
        limiter.reserve(60.0).await.spend();
        let gave_up = tokio::time::timeout(Duration::from_millis(10), limiter.reserve(6000.0)).await;
        assert!(gave_up.is_err());
        assert!(limiter.bucket().take(9.0, Instant::now()) <= SECOND);
    }
}
