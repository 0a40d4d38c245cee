//! The allow-list: every name that a pickle may ask for.
//!
//! A pickle is a program, and its instruction to import a function is what makes pickles dangerous. Here a name is
//! only ever compared with this list; what is not on it ends the reading with the name in the message.

use super::node::Constructor;
use crate::arrays::{ElementKind, ElementType};

/// The constructor of that name, if it is permitted.
pub(crate) fn permitted(module: &str, name: &str) -> Option<Constructor> {
    // Python 2 called the module of the built-in functions otherwise, and NumPy 2 moved its own.
    let module = match module {
        "__builtin__" => "builtins",
        "numpy._core.multiarray" => "numpy.core.multiarray",
        "numpy._core.numeric" => "numpy.core.numeric",
        other => other,
    };
    Some(match (module, name) {
        ("builtins", "list") => Constructor::EmptyList,
        ("builtins", "dict") => Constructor::EmptyDict,
        ("builtins", "bytearray") => Constructor::ByteArray,
        ("builtins", "int" | "float" | "str" | "bytes" | "bool" | "tuple" | "long" | "unicode") => {
            Constructor::PlainType
        }
        ("collections", "OrderedDict") => Constructor::OrderedDict,
        ("collections", "defaultdict") => Constructor::DefaultDict,
        ("_codecs", "encode") => Constructor::Encode,
        ("numpy", "ndarray") => Constructor::NdArrayType,
        ("numpy", "dtype") => Constructor::Dtype,
        ("numpy.core.multiarray", "_reconstruct") => Constructor::NumpyReconstruct,
        ("numpy.core.multiarray", "scalar") => Constructor::NumpyScalar,
        ("numpy.core.numeric", "_frombuffer") => Constructor::NumpyFromBuffer,
        ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor") => Constructor::TorchRebuildTensor,
        ("torch._utils", "_rebuild_parameter") => Constructor::TorchRebuildParameter,
        ("torch.storage", "_load_from_bytes") => Constructor::TorchLoadFromBytes,
        ("torch.storage" | "torch", "UntypedStorage") => Constructor::TorchUntypedStorageType,
        ("torch" | "torch.storage" | "torch.cuda", storage) => {
            Constructor::TorchStorageType(storage_element(storage)?)
        }
        _ => return None,
    })
}

fn storage_element(name: &str) -> Option<ElementType> {
    Some(match name {
        "DoubleStorage" => ElementType::little(ElementKind::Float, 8),
        "FloatStorage" => ElementType::little(ElementKind::Float, 4),
        "HalfStorage" => ElementType::little(ElementKind::Float, 2),
        "BFloat16Storage" => ElementType::little(ElementKind::BrainFloat, 2),
        "LongStorage" => ElementType::little(ElementKind::Signed, 8),
        "IntStorage" => ElementType::little(ElementKind::Signed, 4),
        "ShortStorage" => ElementType::little(ElementKind::Signed, 2),
        "CharStorage" => ElementType::little(ElementKind::Signed, 1),
        "ByteStorage" => ElementType::little(ElementKind::Unsigned, 1),
        "BoolStorage" => ElementType::little(ElementKind::Bool, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_runs_code_is_permitted() {
        for (module, name) in [
            ("os", "system"),
            ("posix", "system"),
            ("builtins", "eval"),
            ("builtins", "exec"),
            ("__builtin__", "getattr"),
            ("builtins", "__import__"),
            ("subprocess", "Popen"),
            ("numpy", "load"),
            ("numpy.core.multiarray", "fromfile"),
            ("torch", "load"),
            ("torch", "hub"),
            ("torch.storage", "system"),
            ("copyreg", "_reconstructor"),
            ("functools", "partial"),
        ] {
            assert_eq!(permitted(module, name), None, "{module}.{name}");
        }
    }
}
