//! Named columns put together into a table: what Parquet and Arrow files have in common.
//!
//! What a column is for is told by its name and type before anything of it is read, so that columns of other things
//! (captions, boxes, whole images) cost nothing; a note says what was left out.

use std::path::Path;

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Field};
use handful::Matrix;

use super::{
    OpenOptions,
    cells::{Cell, Cells, Numbers, is_number, is_text},
    header,
    raw_table::{KnownNames, Labels, RawTable},
};
use crate::error::DataError;

/// Columns named in a note before the rest are counted.
const NAMED: usize = 5;

/// Which columns of a file are read.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub id: Option<usize>,
    pub label: Option<usize>,
    /// The one column of lists, or the columns of numbers in their order.
    pub features: Vec<usize>,
    is_list: bool,
    names: Vec<String>,
    notes: Vec<String>,
}

impl Plan {
    /// Sorts the columns of a schema by what they hold and by what the user says.
    pub(super) fn of(path: &Path, fields: &[&Field], options: &OpenOptions) -> Result<Self, DataError> {
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let has = |name: &str| names.iter().any(|one| one == name);
        if has("credibility") && has("source") {
            let reason = "it is a labelled pool, not a table of features: its column `source` holds text";
            return Err(DataError::content(path, reason));
        }
        let mut plan = Self { names, ..Self::default() };
        let asked =
            options.id_column.as_deref().map(|name| header::place(path, &plan.names, name)).transpose()?;
        if let Some(at) = asked {
            let kind = plain(fields[at].data_type());
            if !is_text(kind) && !kind.is_integer() {
                let reason = format!("column `{}` cannot name the rows: it is {kind}", plan.names[at]);
                return Err(DataError::content(path, reason));
            }
            plan.id = asked;
        }
        let (mut lists, mut numbers, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (at, field) in fields.iter().enumerate() {
            let (name, kind) = (field.name().as_str(), plain(field.data_type()));
            let is_list = is_list_of_floats(field.data_type());
            if plan.id == Some(at) {
                continue;
            } else if name.starts_with("__index_level_") {
                others.push(format!("column `{name}` is the index of pandas"));
            } else if KnownNames::is_label(name) && plan.label.is_none() && !is_list {
                if is_text(kind) || kind.is_integer() {
                    plan.label = Some(at);
                } else if kind.is_floating() {
                    let reason =
                        format!("column `{name}` holds fractions, but labels are whole numbers or text");
                    return Err(DataError::content(path, reason));
                } else {
                    others.push(described(name, kind));
                }
            } else if KnownNames::is_id(name) && plan.id.is_none() && (is_text(kind) || kind.is_integer()) {
                plan.id = Some(at);
            } else if is_list {
                lists.push(at);
            } else if is_number(field.data_type()) {
                numbers.push(at);
            } else {
                others.push(described(name, kind));
            }
        }
        match *lists.as_slice() {
            [] => plan.features.clone_from(&numbers),
            [only] => plan.features = vec![only],
            _ => plan.features = vec![plan.named_list(path, &lists)?],
        }
        plan.is_list = !lists.is_empty();
        let unused = lists.iter().filter(|at| !plan.features.contains(at));
        others.extend(unused.map(|&at| format!("column `{}` is another list of numbers", plan.names[at])));
        if plan.features.is_empty() {
            let images = fields.iter().any(|field| is_image(field));
            let reason = match (images, others.is_empty()) {
                (true, _) => {
                    "it holds images, not features; make features of them first (`handful embed`)".to_owned()
                }
                (false, true) => NO_FEATURES.to_owned(),
                (false, false) => format!("{NO_FEATURES}; {}", joined(&others)),
            };
            return Err(DataError::content(path, reason));
        }
        if plan.is_list && !numbers.is_empty() {
            let names: Vec<String> = numbers.iter().map(|&at| format!("`{}`", plan.names[at])).collect();
            others.push(format!("beside the list column the numbers of {} are no features", joined(&names)));
        }
        if !others.is_empty() {
            plan.notes.push(format!("left out: {}", joined(&others)));
        }
        Ok(plan)
    }

    /// The one of several lists whose name says that it is the features.
    fn named_list(&self, path: &Path, lists: &[usize]) -> Result<usize, DataError> {
        let named: Vec<usize> =
            lists.iter().copied().filter(|&at| KnownNames::is_feature(&self.names[at])).collect();
        match *named.as_slice() {
            [only] => Ok(only),
            _ => {
                let (first, second) = (&self.names[lists[0]], &self.names[lists[1]]);
                let reason = format!(
                    "the columns `{first}` and `{second}` both hold lists of numbers; keep one, or name one `features`"
                );
                Err(DataError::content(path, reason))
            }
        }
    }

    /// The columns that name and label rows, in their order.
    pub(super) fn names_and_labels(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.id.into_iter().chain(self.label).collect();
        columns.sort_unstable();
        columns
    }
}

const NO_FEATURES: &str = "it has neither a column of lists (`embedding`) nor columns of numbers";

fn joined(texts: &[String]) -> String {
    let more = texts.len().saturating_sub(NAMED);
    let named = texts[..texts.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

fn described(name: &str, kind: &DataType) -> String {
    let what = match kind {
        kind if is_text(kind) => "text".to_owned(),
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => "structures".to_owned(),
        DataType::Boolean => "truth values".to_owned(),
        kind if kind.is_temporal() => "times".to_owned(),
        kind if kind.is_nested() => "lists".to_owned(),
        kind => kind.to_string(),
    };
    format!("column `{name}` holds {what}")
}

/// The type of the values, where they are given by reference to a dictionary.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

fn is_list_of_floats(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().is_floating()
        }
        _ => false,
    }
}

/// An image as Hugging Face stores it: `struct<bytes, path>`.
pub(crate) fn is_image(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(parts) if parts.iter().any(|part| part.name() == "bytes"))
}

/// The rows read so far.
pub(super) struct TableColumns<'p> {
    path: &'p Path,
    plan: Plan,
    limit: u64,
    left: u64,
    rows: usize,
    dim: usize,
    values: Vec<f32>,
    ids: Vec<String>,
    labels: Labels,
}

impl<'p> TableColumns<'p> {
    /// `limit` is the memory that a file of this size may take.
    pub(super) fn new(path: &'p Path, plan: Plan, limit: u64) -> Self {
        let dim = if plan.is_list { 0 } else { plan.features.len() };
        let labels = Labels::Absent;
        Self { path, plan, limit, left: limit, rows: 0, dim, values: Vec::new(), ids: Vec::new(), labels }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    fn charge(&mut self, bytes: usize) -> Result<(), DataError> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| DataError::Limit {
            path: self.path.to_owned(),
            what: "the unpacked size".to_owned(),
            limit: self.limit,
        })?;
        Ok(())
    }

    /// Adds rows of the given columns of the file; columns that are not in the plan are passed over.
    pub(super) fn push(&mut self, columns: &[usize], batch: &RecordBatch) -> Result<(), DataError> {
        let place = |column: usize| columns.iter().position(|&one| one == column);
        if let Some(at) = self.plan.id.and_then(place) {
            self.push_ids(batch.column(at))?;
        }
        if let Some(at) = self.plan.label.and_then(place) {
            self.push_labels(batch.column(at))?;
        }
        let features: Option<Vec<usize>> = self.plan.features.iter().map(|&column| place(column)).collect();
        let Some(features) = features else { return Ok(()) };
        match *features.as_slice() {
            [at] if self.plan.is_list => self.push_lists(batch.column(at).as_ref())?,
            _ => self.push_numbers(batch, &features)?,
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    fn push_ids(&mut self, array: &dyn Array) -> Result<(), DataError> {
        let name = self.plan.id.map_or(String::new(), |at| self.plan.names[at].clone());
        let cells = Cells::of(array);
        for at in 0..array.len() {
            let row = self.ids.len();
            let id = match cells.get(at) {
                Some(Cell::Text(text)) => text.to_owned(),
                Some(Cell::Integer(number)) => number.to_string(),
                Some(Cell::Absent) => {
                    return Err(DataError::row(
                        self.path,
                        row,
                        format!("its id in column `{name}` is missing"),
                    ));
                }
                None => {
                    return Err(DataError::row(self.path, row, format!("column `{name}` is not UTF-8 text")));
                }
            };
            self.charge(size_of::<String>() + id.len())?;
            self.ids.push(id);
        }
        Ok(())
    }

    fn push_labels(&mut self, array: &dyn Array) -> Result<(), DataError> {
        let cells = Cells::of(array);
        let is_text = cells.is_text();
        if self.labels == Labels::Absent {
            self.labels = if is_text { Labels::Names(Vec::new()) } else { Labels::Integers(Vec::new()) };
        }
        for at in 0..array.len() {
            let cell = cells.get(at);
            self.charge(match &cell {
                Some(Cell::Text(text)) => size_of::<Option<String>>() + text.len(),
                _ => size_of::<Option<String>>(),
            })?;
            let row = match (&mut self.labels, cell) {
                (Labels::Names(names), Some(Cell::Text(text))) => {
                    names.push(Some(text.to_owned()));
                    continue;
                }
                (Labels::Names(names), Some(Cell::Absent)) => {
                    names.push(None);
                    continue;
                }
                (Labels::Integers(labels), Some(Cell::Integer(label))) => {
                    labels.push(label);
                    continue;
                }
                (Labels::Integers(labels), Some(Cell::Absent)) => {
                    labels.push(-1);
                    continue;
                }
                (Labels::Names(names), _) => names.len(),
                (Labels::Integers(labels), _) => labels.len(),
                (Labels::Absent, _) => 0,
            };
            return Err(DataError::row(self.path, row, "its label is neither text nor a whole number"));
        }
        Ok(())
    }

    fn push_numbers(&mut self, batch: &RecordBatch, columns: &[usize]) -> Result<(), DataError> {
        let (rows, dim) = (batch.num_rows(), self.dim);
        let start = self.values.len();
        self.charge(rows.saturating_mul(dim).saturating_mul(size_of::<f32>()))?;
        self.values.resize(start + rows * dim, 0.0);
        for (place, (&at, &column)) in columns.iter().zip(&self.plan.features).enumerate() {
            let array = batch.column(at);
            if let Some(missing) = (0..rows).find(|&row| array.null_count() > 0 && array.is_null(row)) {
                let reason = format!("the number of column `{}` is missing", self.plan.names[column]);
                return Err(DataError::row(self.path, self.rows + missing, reason));
            }
            let mut slots = self.values[start + place..].iter_mut().step_by(dim);
            Numbers::of(array).for_each(0..rows, |value| {
                if let Some(slot) = slots.next() {
                    *slot = value;
                }
            });
        }
        Ok(())
    }

    fn push_lists(&mut self, array: &dyn Array) -> Result<(), DataError> {
        let name = self.plan.names[self.plan.features[0]].clone();
        let (items, bounds) = list_bounds(array);
        let numbers = Numbers::of(items);
        for at in 0..array.len() {
            let row = self.rows + at;
            let wrong = |reason: String| Err(DataError::row(self.path, row, reason));
            if array.is_null(at) {
                return wrong(format!("its `{name}` is missing"));
            }
            let range = bounds(at);
            if row == 0 {
                self.dim = range.len();
            }
            if range.len() != self.dim {
                let reason =
                    format!("`{name}` has {} numbers, but the rows before have {}", range.len(), self.dim);
                return wrong(reason);
            }
            if items.null_count() > 0 && range.clone().any(|item| items.is_null(item)) {
                return wrong(format!("a number of `{name}` is missing"));
            }
            self.charge(range.len().saturating_mul(size_of::<f32>()))?;
            let values = &mut self.values;
            numbers.for_each(range, |value| values.push(value));
        }
        Ok(())
    }

    /// The table.
    pub(super) fn into_table(self, format: &'static str) -> RawTable {
        let features = Matrix::from_vec(self.rows, self.dim, self.values);
        RawTable {
            labels: self.labels,
            ids: self.plan.id.map(|_| self.ids),
            notes: self.plan.notes,
            ..RawTable::new(format, features)
        }
    }

    /// How many rows have features.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

/// Where the items of a row are.
type Bounds<'a> = Box<dyn Fn(usize) -> std::ops::Range<usize> + 'a>;

/// The items of a list column, and where those of each row are.
fn list_bounds(array: &dyn Array) -> (&dyn Array, Bounds<'_>) {
    if let Some(lists) = array.as_list_opt::<i32>() {
        let offsets = lists.value_offsets();
        (lists.values(), Box::new(move |row| offsets[row] as usize..offsets[row + 1] as usize))
    } else if let Some(lists) = array.as_list_opt::<i64>() {
        let offsets = lists.value_offsets();
        (lists.values(), Box::new(move |row| offsets[row] as usize..offsets[row + 1] as usize))
    } else {
        let lists = array.as_fixed_size_list();
        let length = usize::try_from(lists.value_length()).unwrap_or(0);
        (lists.values(), Box::new(move |row| row * length..(row + 1) * length))
    }
}
