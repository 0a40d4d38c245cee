//! Torch tensors: strided views of a storage, made into plain arrays.

use super::{
    construct::{items, lengths},
    machine::Machine,
    node::{Handle, Node},
};
use crate::{
    arrays::{Order, RawArray},
    error::DataError,
};

/// `torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …)`.
pub(super) fn rebuild<'a>(
    machine: &mut Machine<'a, '_>,
    arguments: &[Handle],
) -> Result<Node<'a>, DataError> {
    let [storage, offset, size, stride, ..] = *arguments else {
        return Err(machine.wrong("a tensor needs storage, offset, size and stride"));
    };
    if matches!(machine.nodes[storage as usize], Node::EmptyArray) {
        return Ok(Node::EmptyArray);
    }
    let Node::Int(offset) = machine.nodes[offset as usize] else {
        return Err(machine.wrong("a tensor's offset is not a number"));
    };
    let offset = usize::try_from(offset).map_err(|_| machine.wrong("a tensor's offset is negative"))?;
    if items(machine, size).is_none() || items(machine, stride).is_none() {
        return Err(machine.wrong("a tensor's size or stride is not a tuple"));
    }
    let (size, stride) = (lengths(machine, size)?, lengths(machine, stride)?);
    if size.len() != stride.len() {
        return Err(machine.wrong("a tensor's size and stride differ in length"));
    }
    let storage = machine.storage_of(storage).ok_or_else(|| machine.wrong("a tensor has no storage"))?;
    let element = storage.element;
    let available = storage.bytes.len() / element.size;
    let view = View::new(&size, &stride, offset, available).ok_or_else(|| {
        machine.wrong(&format!("a tensor of size {size:?} reaches beyond its storage of {available}"))
    })?;
    let (count, width) = (view.count, element.size);
    // A view may name the same element any number of times, so its size is not bounded by the file's.
    machine.charge(count.saturating_mul(width) as u64)?;
    let storage = machine.storage_of(arguments[0]).ok_or_else(|| machine.wrong("a tensor has no storage"))?;
    let bytes = if view.contiguous {
        match &storage.bytes {
            std::borrow::Cow::Borrowed(bytes) => (&bytes[offset * width..(offset + count) * width]).into(),
            std::borrow::Cow::Owned(bytes) => bytes[offset * width..(offset + count) * width].to_vec().into(),
        }
    } else {
        let mut copy = Vec::with_capacity(count * width);
        view.for_each(|at| copy.extend_from_slice(&storage.bytes[at * width..(at + 1) * width]));
        copy.into()
    };
    let array =
        RawArray::new(element, size, Order::RowMajor, bytes).map_err(|reason| machine.wrong(&reason))?;
    Ok(Node::Array(Box::new(array)))
}

/// A strided view that is known to stay within its storage.
struct View<'v> {
    size: &'v [usize],
    stride: &'v [usize],
    offset: usize,
    count: usize,
    contiguous: bool,
}

impl<'v> View<'v> {
    fn new(size: &'v [usize], stride: &'v [usize], offset: usize, available: usize) -> Option<Self> {
        let count = size.iter().try_fold(1usize, |count, &length| count.checked_mul(length))?;
        let mut expected = 1;
        let mut contiguous = true;
        let mut last = offset;
        for (&length, &step) in size.iter().zip(stride).rev() {
            contiguous &= length <= 1 || step == expected;
            expected = length.checked_mul(expected)?;
            last = last.checked_add(step.checked_mul(length.saturating_sub(1))?)?;
        }
        let fits = if count == 0 { offset <= available } else { last < available };
        fits.then_some(Self { size, stride, offset, count, contiguous: contiguous || count == 0 })
    }

    fn for_each(&self, mut visit: impl FnMut(usize)) {
        let mut index = vec![0; self.size.len()];
        for _ in 0..self.count {
            visit(
                self.offset
                    + index.iter().zip(self.stride).map(|(&place, &step)| place * step).sum::<usize>(),
            );
            for (place, &length) in index.iter_mut().zip(self.size).rev() {
                *place += 1;
                if *place < length {
                    break;
                }
                *place = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_view_is_walked_in_its_own_order() {
        let view = View::new(&[3, 2], &[1, 3], 0, 6).unwrap();
        let mut places = Vec::new();
        view.for_each(|at| places.push(at));
        assert_eq!(places, [0, 3, 1, 4, 2, 5]);
        assert!(!view.contiguous);
    }

    #[test]
    fn view_beyond_its_storage_is_refused() {
        assert!(View::new(&[3, 2], &[2, 1], 1, 6).is_none());
        assert!(View::new(&[usize::MAX, 2], &[1, 1], 0, 6).is_none());
        assert!(View::new(&[2], &[usize::MAX], 0, 6).is_none());
        assert!(View::new(&[0], &[1], 6, 6).is_some_and(|view| view.contiguous));
    }
}
