//! Skew: some keys are asked for far more often than others.

use rand::SeedableRng;
use rand::distr::Distribution;
use rand::rngs::SmallRng;
use rand_distr::Zipf;

/// The exponent that YCSB and parlayhash use.
pub const SKEW: f64 = 0.99;

/// Endless ranks below `universe`; rank 0 is the most frequent. The keys of neighbouring ranks are strangers, so
/// that the frequent ones are scattered (YCSB's "scrambled zipfian").
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks are whole, positive and below 2^53"
)]
pub fn ranks(universe: usize, seed: u64) -> impl Iterator<Item = usize> {
    let zipf = Zipf::new(universe as f64, SKEW).expect("the universe is not empty");
    let mut rng = SmallRng::seed_from_u64(seed);
    std::iter::repeat_with(move || zipf.sample(&mut rng) as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn low_ranks_are_frequent() {
        let draws: Vec<_> = ranks(1000, 1).take(10_000).collect();
        assert!(draws.iter().all(|&rank| rank < 1000));
        let first = draws.iter().filter(|&&rank| rank == 0).count();
        // One in H(1000, 0.99), which is 7.73.
        assert!((1100..1500).contains(&first), "{first}");
    }
}
