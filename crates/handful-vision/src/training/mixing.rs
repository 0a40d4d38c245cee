//! Manifold mixup (Verma et al. 2019): images of a batch are mixed in pairs, at a place of the network that is drawn for
//! every step, and so are their classes. Features then change slowly between classes, which unseen ones gain by.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::Rng;

use super::batches::generator;
use crate::networks::{Architecture, Blend};

/// The stream of an epoch's generator that decides about mixtures; those below belong to images.
const FIRST_STREAM: u64 = 1 << 40;

/// The mixture of a step, a function of the seed and the place alone like all that is drawn; none where α is 0.
///
/// The greater share is the image's own: pairs are mixed both ways, so exchanging the shares would change nothing.
pub(crate) fn blend_of_step(
    alpha: f64,
    backbone: Architecture,
    seed: u64,
    epoch: usize,
    step: usize,
) -> Option<Blend> {
    if alpha <= 0.0 {
        return None;
    }
    let mut random = generator(seed, epoch, FIRST_STREAM + step as u64);
    let depth = ((u128::from(random.next_u64()) * backbone.depths() as u128) >> 64) as usize;
    let share = beta(alpha, &mut random);
    Some(Blend { depth, share: share.max(1.0 - share) as f32 })
}

/// A number from 0 to 1, 0 excluded.
fn uniform(random: &mut ChaCha12Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
}

/// A draw from Beta(α, α), by Jöhnk's way: it throws away more the greater α is, one of 70 is kept at 4.
fn beta(alpha: f64, random: &mut ChaCha12Rng) -> f64 {
    loop {
        let [x, y] = [(); 2].map(|()| uniform(random).powf(1.0 / alpha));
        let sum = x + y;
        if sum <= 1.0 && sum > 0.0 {
            return x / sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blend(alpha: f64, step: usize) -> Option<Blend> {
        blend_of_step(alpha, Architecture::Compact, 3, 2, step)
    }

    #[test]
    fn mixtures_are_functions_of_the_place_and_none_are_made_unless_asked() {
        assert_eq!(blend(0.0, 5), None);
        assert_eq!(blend(2.0, 5), blend(2.0, 5));
        assert_ne!(blend(2.0, 5), blend(2.0, 6));
        let depths: Vec<usize> =
            (0..200).filter_map(|step| blend(2.0, step)).map(|blend| blend.depth).collect();
        assert!(
            (0..4).all(|depth| depths.iter().filter(|&&found| found == depth).count() > 25),
            "{depths:?}"
        );
        let only_images = blend_of_step(2.0, Architecture::ResNet18, 3, 2, 7).expect("asked for");
        assert_eq!(only_images.depth, 0);
    }

    #[test]
    fn shares_have_the_spread_of_their_distribution() {
        for alpha in [0.2, 1.0, 2.0] {
            let mut random = generator(1, 0, 0);
            let shares: Vec<f64> = (0..20_000).map(|_| beta(alpha, &mut random)).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let variance =
                shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / shares.len() as f64;
            let expected = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            assert!((mean - 0.5).abs() < 0.01, "α = {alpha}: mean {mean}");
            assert!((variance / expected - 1.0).abs() < 0.05, "α = {alpha}: variance {variance}");
        }
    }

    #[test]
    fn an_image_keeps_the_greater_share() {
        let shares = (0..100).filter_map(|step| blend(0.5, step)).map(|blend| blend.share);
        assert!(shares.into_iter().all(|share| (0.5..=1.0).contains(&share)));
    }
}
