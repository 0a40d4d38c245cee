//! The rows that a rule sees, with all that does not depend on labels: coordinates, neighbour graph, smoothed features,
//! whitening.

use std::sync::{Arc, OnceLock};

use handful::Matrix;
use handful::graph::inverted_lists::InvertedLists;
use handful::graph::neighbours::Neighbours;
use handful::graph::weighted::WeightedGraph;
use handful::linalg::landmarks::gaussian_factor;
use handful::paper::ida::{FisherParams, RidgeScale, WhitenedPool};

use crate::projection::unit_rows;

/// Directions along which dependence is normalised and IDA computed, and their ridge in mean eigenvalues.
const WHITENED: usize = 64;
const RIDGE: f64 = 0.1;
/// The Gaussian kernel of the dependence: its width in median distances, the columns of its factor, and its landmarks.
/// At half a median and at one it labels like the linear kernel, within a point; at three the factor is within a thousandth
/// of the kernel on 7,500 sentences in 150 classes, value and gradient (at one median a hundredth).
const GAUSSIAN_WIDTH: f64 = 3.0;
const GAUSSIAN_RANK: usize = 512;
const LANDMARKS: usize = 4000;

/// Unit rows and their neighbourhood.
pub(crate) struct Neighbourhood {
    /// The rows' numbers in the pool, rising; all of them where there is no list.
    pub numbers: Option<Vec<usize>>,
    /// Unit coordinates, shared with the models fitted to them.
    pub coordinates: Arc<Matrix<f32>>,
    /// The same arranged to be searched: once for all models of the pool.
    pub lists: Arc<InvertedLists>,
    pub graph: WeightedGraph,
    /// Coordinates with a fifth of the neighbours' mean.
    pub lightly: Matrix<f32>,
    /// With half of it.
    pub halfway: Matrix<f32>,
    /// Twice with three fifths of it.
    pub strongly: Matrix<f32>,
    /// `lightly` whitened, for IDA.
    pub whitened: WhitenedPool,
    /// The same in units of the covariance, for the normalised dependence.
    pub normalised: Matrix<f32>,
    /// `lightly` less its mean: the factor of the linear kernel, for the dependence.
    pub centred: Matrix<f32>,
    gaussian: OnceLock<Matrix<f32>>,
}

impl Neighbourhood {
    /// Prepares unit rows.
    pub fn new(coordinates: Matrix<f32>, numbers: Option<Vec<usize>>, neighbours: usize) -> Self {
        let graph = WeightedGraph::new(&coordinates, &Neighbours::among(&coordinates, neighbours));
        let lists = Arc::new(InvertedLists::new(&coordinates));
        let smooth = |share: f32, rounds: usize| {
            let mut rows = coordinates.clone();
            for _ in 0..rounds {
                rows = graph.smooth(&rows, share, 1);
                unit_rows(&mut rows);
            }
            rows
        };
        let lightly = smooth(0.2, 1);
        let fisher = FisherParams {
            pca: WHITENED,
            ridge: RIDGE,
            ridge_scale: RidgeScale::Relative,
            psi_per_class: false,
        };
        let whitened = WhitenedPool::new(&lightly, &fisher);
        let scale = (coordinates.rows() as f64).sqrt();
        let units = whitened.coordinates();
        let values = units.as_slice().iter().map(|value| (value * scale) as f32).collect();
        let mut centred = lightly.clone();
        centred.centre();
        Self {
            numbers,
            halfway: smooth(0.5, 1),
            strongly: smooth(0.6, 2),
            normalised: Matrix::from_vec(units.rows(), units.columns(), values),
            centred,
            gaussian: OnceLock::new(),
            whitened,
            lightly,
            graph,
            lists,
            coordinates: Arc::new(coordinates),
        }
    }

    /// The factor of the Gaussian kernel on `lightly`, made when it is asked for.
    pub fn gaussian(&self) -> &Matrix<f32> {
        self.gaussian.get_or_init(|| gaussian_factor(&self.lightly, GAUSSIAN_WIDTH, GAUSSIAN_RANK, LANDMARKS))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.coordinates.rows()
    }

    /// The row's number in the pool.
    pub fn number(&self, at: usize) -> usize {
        self.numbers.as_ref().map_or(at, |numbers| numbers[at])
    }

    /// Where a row of the pool is here.
    pub fn place(&self, number: usize) -> Option<usize> {
        match &self.numbers {
            Some(numbers) => numbers.binary_search(&number).ok(),
            None => (number < self.rows()).then_some(number),
        }
    }
}
