//! What the permitted constructors make of their arguments.
//!
//! Each stands for a Python function that would build an object; here it builds a node from nodes. Arguments of
//! another form than the function's own are errors, never guesses.

use std::borrow::Cow;

use super::{
    machine::Machine,
    node::{Constructor, Handle, Node, Storage},
    tensor,
};
use crate::{
    arrays::{ElementType, Order, RawArray},
    error::DataError,
    readers::torch,
};

/// Files inside files (a tensor inside a pickle is a whole torch file) may go this deep.
const DEEPEST_NESTING: usize = 2;

/// `function(*arguments)`.
pub(super) fn call<'a>(
    machine: &mut Machine<'a, '_>,
    function: Handle,
    arguments: Handle,
) -> Result<Node<'a>, DataError> {
    let Node::Global(constructor) = machine.nodes[function as usize] else {
        return Err(machine.wrong("it calls something that is not a constructor"));
    };
    let Node::Tuple(arguments) = &machine.nodes[arguments as usize] else {
        return Err(machine.wrong("it calls a constructor without a tuple of arguments"));
    };
    let arguments = arguments.as_ref().clone();
    match constructor {
        Constructor::EmptyList if arguments.is_empty() => Ok(Node::List(Box::default())),
        Constructor::EmptyDict | Constructor::DefaultDict if arguments.len() <= 1 => {
            Ok(Node::Dict(Box::default()))
        }
        Constructor::OrderedDict => ordered_dict(machine, &arguments),
        Constructor::ByteArray => byte_array(machine, &arguments),
        Constructor::Encode => encode(machine, &arguments),
        Constructor::Dtype => dtype(machine, &arguments),
        Constructor::NumpyReconstruct => Ok(Node::EmptyArray),
        Constructor::NumpyScalar => scalar(machine, &arguments),
        Constructor::NumpyFromBuffer => from_buffer(machine, &arguments),
        Constructor::TorchRebuildTensor => tensor::rebuild(machine, &arguments),
        Constructor::TorchRebuildParameter => {
            match arguments.first().map(|&data| &machine.nodes[data as usize]) {
                Some(Node::Array(array)) => {
                    let array = RawArray::clone(array);
                    charge_array(machine, &array)?;
                    Ok(Node::Array(Box::new(array)))
                }
                Some(Node::EmptyArray) => Ok(Node::EmptyArray),
                _ => Err(machine.wrong("a torch parameter holds no tensor")),
            }
        }
        Constructor::TorchLoadFromBytes => load_from_bytes(machine, &arguments),
        _ => Err(machine.wrong("it calls a type that only serves as a name")),
    }
}

/// `target.__setstate__(state)`.
pub(super) fn fill(machine: &mut Machine<'_, '_>, target: Handle, state: Handle) -> Result<(), DataError> {
    match &machine.nodes[target as usize] {
        Node::EmptyArray => fill_array(machine, target, state),
        Node::ElementType(element) => {
            let Some(mut element) = **element else { return Ok(()) };
            let order = items(machine, state).and_then(|items| items.get(1).copied());
            element.big_endian = match order.and_then(|order| text(machine, order)).as_deref() {
                Some(">") => true,
                Some("<" | "|" | "=") => false,
                _ => return Err(machine.wrong("an element type has no byte order")),
            };
            machine.nodes[target as usize] = Node::ElementType(Box::new(Some(element)));
            Ok(())
        }
        // Ordered dictionaries of torch carry version numbers of modules as state.
        Node::Dict(_) => Ok(()),
        _ => Err(machine.wrong("it sets the state of something that has none")),
    }
}

fn fill_array<'a>(machine: &mut Machine<'a, '_>, target: Handle, state: Handle) -> Result<(), DataError> {
    let state = items(machine, state).unwrap_or_default().to_vec();
    let [_, shape, element, fortran, data] = state[..] else {
        return Err(machine.wrong("an array's state is not (version, shape, type, order, data)"));
    };
    let Node::ElementType(element) = &machine.nodes[element as usize] else {
        return Err(machine.wrong("an array has no element type"));
    };
    let Some(element) = **element else {
        // An array of Python objects is a list of them.
        let objects = items(machine, data).unwrap_or_default().to_vec();
        machine.charge(4 * objects.len() as u64)?;
        machine.nodes[target as usize] = Node::List(Box::new(objects));
        return Ok(());
    };
    let shape = lengths(machine, shape)?;
    let order = match machine.nodes[fortran as usize] {
        Node::Bool(true) | Node::Int(1) => Order::ColumnMajor,
        _ => Order::RowMajor,
    };
    let bytes = bytes(machine, data)?;
    let array = array(machine, element, shape, order, bytes)?;
    machine.nodes[target as usize] = array;
    Ok(())
}

fn array<'a>(
    machine: &mut Machine<'a, '_>,
    element: ElementType,
    shape: Vec<usize>,
    order: Order,
    bytes: Cow<'a, [u8]>,
) -> Result<Node<'a>, DataError> {
    let array = RawArray::new(element, shape, order, bytes).map_err(|reason| machine.wrong(&reason))?;
    charge_array(machine, &array)?;
    Ok(Node::Array(Box::new(array)))
}

pub(super) fn charge_array(machine: &mut Machine<'_, '_>, array: &RawArray<'_>) -> Result<(), DataError> {
    machine.charge(array.owned_bytes() as u64)
}

/// A storage outside the pickle: `('storage', type, key, location, elements, …)`.
pub(super) fn persistent<'a>(machine: &mut Machine<'a, '_>, id: Handle) -> Result<Node<'a>, DataError> {
    let parts = items(machine, id).unwrap_or_default().to_vec();
    let [_, kind, key, ..] = parts[..] else {
        return Err(machine.wrong("it refers to data outside the file"));
    };
    let Node::Global(Constructor::TorchStorageType(element)) = machine.nodes[kind as usize] else {
        return Err(machine.wrong("it refers to a storage of unknown type"));
    };
    let key = text(machine, key).ok_or_else(|| machine.wrong("it refers to a storage without a key"))?;
    let Some(source) = machine.storages.as_mut() else {
        return Err(machine.wrong("it refers to tensor data that the file does not hold"));
    };
    let Some(bytes) = source.storage(&key, element)? else { return Ok(Node::EmptyArray) };
    if let Cow::Owned(bytes) = &bytes {
        machine.charge(bytes.len() as u64)?;
    }
    Ok(Node::Storage(Box::new(Storage { element, bytes })))
}

fn ordered_dict<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let pairs = match arguments {
        [] => Vec::new(),
        // Python 2 hands the contents over as a list of pairs.
        [pairs] => (items(machine, *pairs).unwrap_or_default().iter())
            .map(|&pair| match items(machine, pair) {
                Some(&[key, value]) => Ok((key, value)),
                _ => Err(machine.wrong("an ordered dictionary is not made of pairs")),
            })
            .collect::<Result<_, _>>()?,
        _ => return Err(machine.wrong("an ordered dictionary has too many arguments")),
    };
    machine.charge(8 * pairs.len() as u64)?;
    Ok(Node::Dict(Box::new(pairs)))
}

fn byte_array<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let bytes = match *arguments {
        [] => Cow::Borrowed([].as_slice()),
        [first, ..] => bytes(machine, first)?,
    };
    Ok(Node::Bytes(Box::new(bytes)))
}

/// `_codecs.encode(text, 'latin1')`.
fn encode<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let wrong =
        |machine: &Machine<'_, '_>| machine.wrong("`_codecs.encode` is only permitted for latin1 text");
    let [source, encoding] = arguments else { return Err(wrong(machine)) };
    let (Node::Text(source), Some("latin1" | "latin-1")) =
        (&machine.nodes[*source as usize], text(machine, *encoding).as_deref())
    else {
        return Err(wrong(machine));
    };
    let bytes: Option<Vec<u8>> = source.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
    let bytes = bytes.ok_or_else(|| wrong(machine))?;
    machine.charge(bytes.len() as u64)?;
    Ok(Node::Bytes(Box::new(Cow::Owned(bytes))))
}

/// `numpy.dtype('f4', …)`; the byte order follows as its state.
fn dtype<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let name = arguments.first().and_then(|&name| text(machine, name));
    let name = name.ok_or_else(|| machine.wrong("an element type has no name"))?;
    if name.starts_with('O') {
        return Ok(Node::ElementType(Box::new(None)));
    }
    let element =
        ElementType::parse_numpy(&name).map_err(|reason| DataError::content(machine.path, reason))?;
    Ok(Node::ElementType(Box::new(Some(element))))
}

/// `numpy.core.multiarray.scalar(dtype, bytes)`.
fn scalar<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let [element, data] = *arguments else {
        return Err(machine.wrong("a NumPy scalar needs a type and its bytes"));
    };
    let Node::ElementType(element) = &machine.nodes[element as usize] else {
        return Err(machine.wrong("a NumPy scalar has no element type"));
    };
    let element = element.ok_or_else(|| machine.wrong("a NumPy scalar is a Python object"))?;
    let bytes = bytes(machine, data)?;
    if bytes.len() != element.size {
        return Err(machine.wrong("a NumPy scalar has the wrong number of bytes"));
    }
    if element.is_float() {
        return Ok(Node::Float(element.float(&bytes)));
    }
    if element.is_text() {
        let text = element.text(&bytes).ok_or_else(|| machine.wrong("a NumPy text is not valid"))?;
        return Ok(Node::Text(Box::new(Cow::Owned(text))));
    }
    let value = element.integer(&bytes).ok_or_else(|| machine.wrong("a NumPy scalar is beyond 64 bits"))?;
    Ok(Node::Int(value))
}

/// `numpy.core.numeric._frombuffer(bytes, dtype, shape, order)`: arrays in protocol 5.
fn from_buffer<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    let [data, element, shape, order] = *arguments else {
        return Err(machine.wrong("an array buffer needs data, type, shape and order"));
    };
    let Node::ElementType(element) = &machine.nodes[element as usize] else {
        return Err(machine.wrong("an array has no element type"));
    };
    let element = element.ok_or_else(|| machine.wrong("an array buffer cannot hold Python objects"))?;
    let order = match text(machine, order).as_deref() {
        Some("C") => Order::RowMajor,
        Some("F") => Order::ColumnMajor,
        _ => return Err(machine.wrong("an array has neither order C nor F")),
    };
    let shape = lengths(machine, shape)?;
    let bytes = bytes(machine, data)?;
    array(machine, element, shape, order, bytes)
}

/// `torch.storage._load_from_bytes(bytes)`: a whole torch file that holds one storage.
fn load_from_bytes<'a>(machine: &mut Machine<'a, '_>, arguments: &[Handle]) -> Result<Node<'a>, DataError> {
    if machine.nesting >= DEEPEST_NESTING {
        return Err(DataError::Limit {
            path: machine.path.to_owned(),
            what: "the nesting of torch files".to_owned(),
            limit: DEEPEST_NESTING as u64,
        });
    }
    let [data] = *arguments else { return Err(machine.wrong("a torch storage has no bytes")) };
    let storage = match &machine.nodes[data as usize] {
        Node::Bytes(bytes) => match &**bytes {
            Cow::Borrowed(bytes) => torch::read_storage(machine.path, bytes, machine.nesting + 1)?,
            Cow::Owned(bytes) => {
                let storage = torch::read_storage(machine.path, bytes, machine.nesting + 1)?;
                Storage { element: storage.element, bytes: Cow::Owned(storage.bytes.into_owned()) }
            }
        },
        _ => return Err(machine.wrong("a torch storage has no bytes")),
    };
    if let Cow::Owned(bytes) = &storage.bytes {
        machine.charge(bytes.len() as u64)?;
    }
    Ok(Node::Storage(Box::new(storage)))
}

/// The items of a tuple or list.
pub(super) fn items<'m>(machine: &'m Machine<'_, '_>, handle: Handle) -> Option<&'m [Handle]> {
    match &machine.nodes[handle as usize] {
        Node::Tuple(items) | Node::List(items) => Some(items),
        _ => None,
    }
}

/// A text, or Python 2 bytes that are text.
fn text(machine: &Machine<'_, '_>, handle: Handle) -> Option<String> {
    match &machine.nodes[handle as usize] {
        Node::Text(text) => Some(text.to_string()),
        Node::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        _ => None,
    }
}

fn bytes<'a>(machine: &mut Machine<'a, '_>, handle: Handle) -> Result<Cow<'a, [u8]>, DataError> {
    let bytes = match &machine.nodes[handle as usize] {
        Node::Bytes(bytes) => Cow::clone(bytes),
        _ => return Err(machine.wrong("bytes are needed where something else is")),
    };
    if let Cow::Owned(bytes) = &bytes {
        machine.charge(bytes.len() as u64)?;
    }
    Ok(bytes)
}

/// A tuple of lengths; a single number stands for one length.
pub(super) fn lengths(machine: &Machine<'_, '_>, handle: Handle) -> Result<Vec<usize>, DataError> {
    let length = |handle: Handle| match machine.nodes[handle as usize] {
        Node::Int(length) => usize::try_from(length).map_err(|_| machine.wrong("a length is negative")),
        _ => Err(machine.wrong("a length is not a number")),
    };
    match items(machine, handle) {
        Some(items) if items.len() <= 32 => items.iter().map(|&item| length(item)).collect(),
        Some(_) => Err(machine.wrong("an array has more than 32 dimensions")),
        None => length(handle).map(|length| vec![length]),
    }
}
