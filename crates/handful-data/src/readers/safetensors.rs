//! Safetensors: a JSON header with the place of each tensor, then the bytes.
//!
//! Looked for: a float tensor `features` `[n, d]`, an optional integer tensor `labels` `[n]`, and in the file's
//! metadata `class_names`, `ids` and `network` (what computed the features, and the digest of its weights), each a JSON list of
//! text. The features are mapped, not read.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use memmap2::Mmap;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::{
    npz::{labels_of_array, texts_of_array},
    raw_table::{EMBEDDER, KnownNames, RawTable, embedder_of_texts},
};
use crate::{
    arrays::{ElementKind, ElementType, Order, RawArray},
    error::DataError,
    table::{FeatureStore, MappedFeatures, map_file},
};

const FORMAT: &str = "safetensors";

#[derive(Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The header's entries. Written by hand because one key among the tensors is of another type, and going through
/// untyped JSON would take many times the memory of the text.
#[derive(Default)]
struct Entries {
    tensors: BTreeMap<String, TensorEntry>,
    metadata: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a map from names to tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Entries::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        entries.metadata = map.next_value()?;
                    } else {
                        entries.tensors.insert(name, map.next_value()?);
                    }
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct Header {
    tensors: BTreeMap<String, TensorEntry>,
    metadata: BTreeMap<String, String>,
    data_start: usize,
}

/// Opens a file as a mapped table.
pub(crate) fn open(path: &Path) -> Result<RawTable, DataError> {
    let map = map_file(path)?;
    read_with(path, &map, |array, start| {
        let mapped = MappedFeatures::new(
            Arc::<Mmap>::clone(&map),
            start,
            array.element(),
            array.shape()[0],
            array.shape()[1],
        );
        mapped.map(FeatureStore::File)
    })
}

/// Reads a file from memory.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    read_with(path, bytes, |_, _| None)
}

/// Every matrix of a file, and its metadata.
pub(crate) fn matrices(path: &Path, bytes: &[u8]) -> Result<Matrices, DataError> {
    let header = Header::parse(path, bytes)?;
    let mut matrices = BTreeMap::new();
    for name in header.tensors.keys() {
        matrices.insert(name.clone(), header.array(path, bytes, name)?.0.to_features(path, name)?);
    }
    Ok((matrices, header.metadata))
}

/// Matrices by name, and texts by name.
pub(crate) type Matrices = (BTreeMap<String, handful::Matrix<f32>>, BTreeMap<String, String>);

/// `map_features` may keep the features where they are; without its answer they are copied.
fn read_with(
    path: &Path,
    bytes: &[u8],
    map_features: impl FnOnce(&RawArray<'_>, usize) -> Option<FeatureStore>,
) -> Result<RawTable, DataError> {
    let header = Header::parse(path, bytes)?;
    let names = KnownNames::find(path, &header.tensors.keys().cloned().collect::<Vec<_>>())?;
    let (features, start) = header.array(path, bytes, &names.features)?;
    let mapped = match (features.shape(), features.element().is_float()) {
        ([_, _], true) => map_features(&features, start),
        _ => None,
    };
    let mut table = match mapped {
        Some(store) => RawTable { features: store, ..RawTable::new(FORMAT, handful::Matrix::zeros(0, 0)) },
        None => RawTable::new(FORMAT, features.to_features(path, &names.features)?),
    };
    if let Some(name) = &names.labels {
        table.labels = labels_of_array(path, name, &header.array(path, bytes, name)?.0)?;
    }
    table.class_names = header.list(path, "class_names")?;
    table.ids = match (header.list(path, "ids")?, &names.ids) {
        (Some(ids), _) => Some(ids),
        (None, Some(name)) => Some(texts_of_array(path, name, &header.array(path, bytes, name)?.0)?),
        (None, None) => None,
    };
    // Somebody else's metadata of that name may hold anything.
    table.embedder = header.list(path, EMBEDDER).ok().flatten().and_then(|texts| embedder_of_texts(&texts));
    Ok(table)
}

impl Header {
    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, DataError> {
        let malformed = |reason: String| DataError::malformed(path, FORMAT, reason);
        let (length, rest) =
            bytes.split_first_chunk().ok_or_else(|| malformed("it is shorter than 8 bytes".to_owned()))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let text = rest.get(..length).ok_or_else(|| {
            malformed(format!(
                "its header should be {length} bytes long, but the file has only {}",
                rest.len()
            ))
        })?;
        let Entries { tensors, metadata } = serde_json::from_slice(text)
            .map_err(|error| malformed(format!("its header is not right: {error}")))?;
        Ok(Self { tensors, metadata, data_start: 8 + length })
    }

    /// A tensor, and where it begins in the file.
    fn array<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        name: &str,
    ) -> Result<(RawArray<'a>, usize), DataError> {
        let entry = (self.tensors.get(name))
            .ok_or_else(|| DataError::content(path, format!("it holds no tensor `{name}`")))?;
        let element = element_type(&entry.dtype).ok_or_else(|| {
            DataError::content(
                path,
                format!("`{name}` holds {}, which is neither a number nor a truth value", entry.dtype),
            )
        })?;
        let (begin, end) = entry.data_offsets;
        let start = self.data_start.saturating_add(begin);
        let data = bytes.get(start..self.data_start.saturating_add(end)).ok_or_else(|| {
            DataError::malformed(
                path,
                FORMAT,
                format!("`{name}` lies at bytes {begin}..{end}, beyond the end of the file"),
            )
        })?;
        let array = RawArray::new(element, entry.shape.clone(), Order::RowMajor, data.into())
            .map_err(|reason| DataError::malformed(path, FORMAT, format!("`{name}`: {reason}")))?;
        Ok((array, start))
    }

    fn list(&self, path: &Path, key: &str) -> Result<Option<Vec<String>>, DataError> {
        let Some(text) = self.metadata.get(key) else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| {
            DataError::content(path, format!("its metadata `{key}` is not a JSON list of text: {error}"))
        })
    }
}

fn element_type(dtype: &str) -> Option<ElementType> {
    Some(match dtype {
        "BOOL" => ElementType::little(ElementKind::Bool, 1),
        "U8" => ElementType::little(ElementKind::Unsigned, 1),
        "I8" => ElementType::little(ElementKind::Signed, 1),
        "U16" => ElementType::little(ElementKind::Unsigned, 2),
        "I16" => ElementType::little(ElementKind::Signed, 2),
        "U32" => ElementType::little(ElementKind::Unsigned, 4),
        "I32" => ElementType::little(ElementKind::Signed, 4),
        "U64" => ElementType::little(ElementKind::Unsigned, 8),
        "I64" => ElementType::little(ElementKind::Signed, 8),
        "F16" => ElementType::little(ElementKind::Float, 2),
        "BF16" => ElementType::little(ElementKind::BrainFloat, 2),
        "F32" => ElementType::little(ElementKind::Float, 4),
        "F64" => ElementType::little(ElementKind::Float, 8),
        _ => return None,
    })
}
