//! Random numbers on the host: the same for every backend and every number of threads.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The stream `purpose` of a seed; streams do not depend on each other.
pub(crate) fn stream(seed: u64, purpose: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(purpose);
    random
}

/// 0 to n − 1 in random order.
pub(crate) fn permutation(n: usize, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.shuffle(random);
    order
}
