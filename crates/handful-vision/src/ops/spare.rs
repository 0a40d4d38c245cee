//! Buffers that were given back, for the next layer of about that size.
//!
//! A layer's output has megabytes. The system takes back what large buffers are freed, and hands out blank pages
//! for the next: that was a quarter of the time of a small network on photographs.

use std::cell::RefCell;

use burn::backend::flex::FlexTensor;

/// Buffers that are kept: the two or three that a network has at a time.
const KEPT: usize = 4;
/// Numbers up to which more are kept, so that each layer finds its own of the last batch: in a larger one, what lies behind
/// the length it had last would have to be blanked.
const NUMBERS: usize = 1 << 25;
/// Smaller ones are not worth the search.
const SMALLEST: usize = 1 << 14;

thread_local! {
    static SPARE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer of this length; what is in it is left from before.
pub(super) fn take(length: usize) -> Vec<f32> {
    let spare = SPARE.with_borrow_mut(|spare| {
        let fitting = (0..spare.len()).filter(|&at| spare[at].capacity() >= length);
        let best = fitting.min_by_key(|&at| (spare[at].len() != length, spare[at].capacity()));
        best.map(|at| spare.swap_remove(at))
    });
    let mut buffer = spare.unwrap_or_default();
    buffer.resize(length, 0.0);
    buffer
}

/// Gives back what a tensor held, unless somebody else holds it too.
pub(super) fn give(tensor: FlexTensor) {
    if !tensor.is_unique() || tensor.layout().num_elements() < SMALLEST {
        return;
    }
    let Ok(buffer) = tensor.into_data().try_into_vec::<f32>() else { return };
    SPARE.with_borrow_mut(|spare| {
        spare.push(buffer);
        while spare.len() > KEPT && spare.iter().map(Vec::capacity).sum::<usize>() > NUMBERS {
            // A network begins with its largest layers: the smallest buffer is the one that fits the fewest.
            let smallest = (0..spare.len()).min_by_key(|&at| spare[at].capacity());
            smallest.map(|at| spare.swap_remove(at));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::host::tensor;
    use super::*;

    #[test]
    fn a_buffer_of_the_length_is_taken_before_a_smaller_one_that_fits() {
        let [own, other] = [5 * SMALLEST, 4 * SMALLEST].map(take);
        let place = own.as_ptr();
        // Room for more than it is asked for, but not the length.
        let mut roomy = other;
        roomy.truncate(2 * SMALLEST);
        give(tensor(roomy, [2 * SMALLEST]));
        give(tensor(own, [5 * SMALLEST]));
        let again = take(5 * SMALLEST);
        assert_eq!(again.as_ptr(), place);
        assert!(take(3 * SMALLEST).capacity() >= 4 * SMALLEST);
    }

    #[test]
    fn what_is_given_back_is_taken_again_and_what_is_shared_is_not() {
        let large = take(3 * SMALLEST);
        let place = large.as_ptr();
        give(tensor(large, [3 * SMALLEST]));
        let again = take(2 * SMALLEST);
        assert_eq!((again.len(), again.as_ptr()), (2 * SMALLEST, place), "the same memory");
        let shared = tensor(take(SMALLEST), [SMALLEST]);
        let held = shared.clone();
        let place = super::super::host::values(&held).as_ptr();
        give(shared);
        let other = take(SMALLEST);
        assert_ne!(other.as_ptr(), place, "somebody still holds it");
        assert_eq!(held.layout().num_elements(), SMALLEST);
    }
}
