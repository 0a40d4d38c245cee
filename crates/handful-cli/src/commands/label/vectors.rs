//! `--class-vectors`: what is known of classes besides labelled rows.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use handful::Matrix;
use handful_data::{ClassVectors, FeatureTable};
use handful_label::{PoolRows, PrototypePool, Prototypes};

use crate::error::CliError;

/// The most that a vector can count: as good as certain of it.
const MOST: f64 = 1000.0;

/// Vectors of classes.
#[derive(Args, Clone, Debug)]
pub struct VectorArgs {
    /// Feature table with a vector for each class (text prototypes, means of old data), or for some. Classes in it need no
    /// label
    #[arg(long, value_name = "FILE")]
    class_vectors: Option<PathBuf>,
    /// How many labelled rows a vector of --class-vectors counts as; 0.5 is half of one
    #[arg(long, value_name = "ROWS", default_value_t = 1.0, requires = "class_vectors")]
    class_vector_rows: f64,
}

impl VectorArgs {
    /// Reads the vectors and holds them against a table.
    pub fn read(&self, table: &FeatureTable) -> Result<Option<ClassVectors>, CliError> {
        let Some(path) = &self.class_vectors else { return Ok(None) };
        if !(self.class_vector_rows > 0.0 && self.class_vector_rows <= MOST) {
            return Err(CliError::Usage(format!(
                "--class-vector-rows {}: it must be above 0 and at most {MOST}",
                self.class_vector_rows
            )));
        }
        let vectors = ClassVectors::read(path)?;
        let names: Vec<String> = vectors.names().map(str::to_owned).collect();
        vectors.of_classes(&names, table.dim())?;
        Ok(Some(vectors))
    }

    /// The pool with the vectors beside it.
    pub fn beside(
        &self,
        pool: Arc<dyn PoolRows>,
        vectors: Option<&ClassVectors>,
        classes: &[String],
    ) -> Result<Arc<dyn PoolRows>, CliError> {
        let Some(vectors) = vectors else { return Ok(pool) };
        let found = vectors.of_classes(classes, pool.dim())?;
        let found: Vec<(usize, &[f32])> =
            found.into_iter().enumerate().filter_map(|(class, vector)| Some((class, vector?))).collect();
        let values = found.iter().flat_map(|(_, vector)| vector.iter().copied()).collect();
        let prototypes = Prototypes {
            vectors: Matrix::from_vec(found.len(), pool.dim(), values),
            classes: found.iter().map(|(class, _)| *class).collect(),
            weight: self.class_vector_rows,
        };
        Ok(Arc::new(PrototypePool::new(pool, prototypes)))
    }
}
