//! The exponential average of a network's weights over the steps of a training.
//!
//! It is what a training with a far smaller learning rate would end at, at no cost: features of unseen classes gain by it.

use burn::module::Module;

use crate::networks::Network;
use crate::tensors::{self, Arrays};

/// Takes the weights of a step into the average. In the first steps less of the average is kept, or it would remember
/// the weights that were drawn: after `steps` of them, as much as a mean over about a tenth would.
pub(crate) fn take_in(average: &mut Arrays, network: &Network, averaging: f64, steps: usize) {
    let kept = averaging.min((1 + steps) as f64 / (10 + steps) as f64) as f32;
    for named in tensors::collect(network) {
        match average.get_mut(&named.name) {
            Some(average) => {
                for (average, value) in average.values.iter_mut().zip(named.array.values) {
                    *average = value + kept * (*average - value);
                }
            }
            None => {
                average.insert(named.name, named.array);
            }
        }
    }
}

/// The network to validate and to keep: with averaged weights, where there are any, for use outside training.
pub(crate) fn averaged(network: &Network, average: Option<&Arrays>) -> Network {
    let network = network.valid();
    match average {
        // Names and shapes are the network's own.
        Some(average) => tensors::apply(network, average).0,
        None => network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::Architecture;
    use burn::tensor::Device;

    #[test]
    fn the_average_follows_the_weights_and_stands_still_with_them() {
        let device = Device::flex().autodiff();
        let drawn = |seed| tensors::draw(Architecture::Conv4.build(&device), seed);
        let (first, second) = (drawn(1), drawn(2));
        let value = |network: &Network| tensors::collect(network).swap_remove(0).array.values[0];
        let mut average = Arrays::new();
        take_in(&mut average, &first, 0.9, 0);
        assert_eq!(value(&averaged(&first, Some(&average))), value(&first));
        take_in(&mut average, &second, 0.9, 10_000);
        let expected = 0.9 * value(&first) + 0.1 * value(&second);
        assert!((value(&averaged(&second, Some(&average))) - expected).abs() < 1e-6);
        assert_eq!(value(&averaged(&second, None)), value(&second));
        for step in 0..2_000 {
            take_in(&mut average, &second, 0.99, step);
        }
        assert!((value(&averaged(&first, Some(&average))) - value(&second)).abs() < 1e-4);
    }
}
