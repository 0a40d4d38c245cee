//! Plain slices in and out of burn's CPU tensors.

use burn::backend::flex::FlexTensor;
use burn::tensor::{Shape, TensorData};

/// A tensor whose numbers lie in order, so that [`values`] can lend them.
pub(crate) fn in_order(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

/// The numbers of a tensor that is [`in_order`].
pub(crate) fn values(tensor: &FlexTensor) -> &[f32] {
    // An ordered tensor lends its numbers; the empty slice is never reached.
    tensor.as_slice::<f32>().unwrap_or_default()
}

/// The numbers of a tensor that is [`in_order`], to write over, where nobody else holds them.
pub(crate) fn own_values(tensor: &mut FlexTensor) -> Option<&mut [f32]> {
    let count = tensor.layout().num_elements();
    // A part of a larger tensor is left alone.
    tensor.try_storage_mut::<f32>().filter(|values| values.len() == count)
}

/// A tensor of these numbers.
pub(crate) fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}

/// The sizes of a tensor of four axes.
pub(crate) fn dims4(tensor: &FlexTensor) -> [usize; 4] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1], shape[2], shape[3]]
}
