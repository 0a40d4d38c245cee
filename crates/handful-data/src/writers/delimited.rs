//! Text tables. Each number is written with as many digits as it takes to read the same bits back.

use std::path::Path;

use csv::{Terminator, WriterBuilder};

use super::write_class_order;
use crate::{
    atomic::write_file, error::DataError, readers::Separator, spreadsheet::guarded, table::FeatureTable,
};

/// Writes `id`, `label` (where there are classes) and one column for each dimension.
pub(super) fn write(path: &Path, table: &FeatureTable, separator: Separator) -> Result<(), DataError> {
    let has_classes = table.class_count() > 0;
    write_file(path, |out| {
        let broken = |error: csv::Error| DataError::write(path, error.into());
        let mut writer = WriterBuilder::new()
            .delimiter(separator.byte())
            .terminator(Terminator::Any(b'\n'))
            .from_writer(out);
        let id = table.ids().map(|_| "id".to_owned());
        let label = has_classes.then(|| "label".to_owned());
        let columns = (0..table.dim()).map(|column| format!("f{column}"));
        writer.write_record(id.into_iter().chain(label).chain(columns)).map_err(broken)?;
        table.for_each_block(|first_row, values| {
            for (row, features) in (first_row..).zip(values.chunks_exact(table.dim())) {
                let id = table.ids().map(|_| guarded(&table.id(row)).into_owned());
                let class = table.class_of_row(row).map_or("", |class| &table.class_names()[class]);
                let label = has_classes.then(|| guarded(class).into_owned());
                let numbers = features.iter().map(f32::to_string);
                writer.write_record(id.into_iter().chain(label).chain(numbers)).map_err(broken)?;
            }
            Ok(())
        })?;
        writer.flush().map_err(|error| DataError::write(path, error))
    })?;
    write_class_order(path, table)
}
