//! An inverted residual block: widen by a product, filter each channel, narrow by a product, add the input.
//!
//! The widened maps have up to six times the channels of what goes in and out, and are needed by nobody else. So the block
//! is computed in pieces: some rows of one image, or several small images, and of those some of the wide channels at a
//! time, so that wide maps and filtered ones stay in the cache. The rows that two pieces share are widened twice.

use std::ops::Range;

use super::filter::{Filter, Window};
use super::lines::Lines;
use super::product::{Product, Source};

/// Wide channels that are taken together.
const CHANNELS: usize = 48;
/// Wide numbers of a piece, zeros around the maps included: a quarter of the second cache.
const NUMBERS: usize = 1 << 16;

/// A block with its weights packed.
pub(super) struct Block {
    pub expand: Option<Product>,
    pub filter: Filter,
    pub project: Product,
    pub stride: usize,
    pub is_residual: bool,
}

/// Buffers that are kept from piece to piece.
#[derive(Default)]
pub(super) struct Scratch {
    wide: Lines,
    filtered: Lines,
    /// Places of pixels: of the input, in the wide maps, in the filtered ones, and of the output.
    tables: [Vec<usize>; 4],
}

/// Images whose channels lie side by side, each pixel's `step` numbers from the next.
#[derive(Clone, Copy)]
pub(super) struct Maps {
    pub count: usize,
    pub sides: [usize; 2],
    pub step: usize,
}

impl Maps {
    /// Numbers of one.
    pub(super) fn numbers(&self) -> usize {
        self.sides[0] * self.sides[1] * self.step
    }
}

/// Some images, or some rows of the output of one.
struct Piece {
    images: Range<usize>,
    rows: Range<usize>,
}

/// Sizes of a block for maps of a size.
struct Plan {
    input: Maps,
    output: Maps,
    /// Zeros before the first row and column.
    before: [usize; 2],
    /// Columns of a wide map, zeros included.
    columns: usize,
    /// Wide channels that are taken together.
    parts: Vec<Range<usize>>,
    /// The most of them: numbers from one wide pixel to the next.
    step: usize,
}

impl Block {
    /// The sizes of what comes out.
    pub(super) fn output(&self, input: &Maps) -> Maps {
        let sides = input.sides.map(|side| side.div_ceil(self.stride));
        Maps { sides, step: self.project.channels(), ..*input }
    }

    /// Computes the block.
    pub(super) fn apply(&self, input: &Maps, x: &[f32], y: &mut [f32], scratch: &mut Scratch) {
        let plan = self.plan(input);
        for piece in self.pieces(&plan) {
            self.piece(&plan, &piece, x, y, scratch);
        }
        if self.is_residual {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
        }
    }

    fn plan(&self, input: &Maps) -> Plan {
        let output = self.output(input);
        let reach = output.sides.map(|side| (side.max(1) - 1) * self.stride + self.filter.kernel());
        let before = [0, 1].map(|axis| reach[axis].saturating_sub(input.sides[axis]) / 2);
        let columns = reach[1].max(before[1] + input.sides[1]);
        let all = || std::iter::once(0..self.filter.channels()).collect();
        let parts = self.expand.as_ref().map_or_else(all, |expand| expand.parts(CHANNELS));
        let step = parts.iter().map(Range::len).max().unwrap_or_default();
        Plan { input: *input, output, before, columns, parts, step }
    }

    /// Rows of the wide maps that so many rows of the output need.
    fn reach(&self, rows: usize) -> usize {
        (rows.max(1) - 1) * self.stride + self.filter.kernel()
    }

    /// As few pieces as fit, as equal as can be.
    fn pieces(&self, plan: &Plan) -> Vec<Piece> {
        let (count, rows) = (plan.input.count, plan.output.sides[0]);
        let row = plan.columns * plan.step;
        let together = (NUMBERS / (self.reach(rows) * row)).min(count);
        if together > 0 {
            let pieces = even(count, together);
            return pieces.map(|images| Piece { images, rows: 0..rows }).collect();
        }
        let height = (NUMBERS / row).saturating_sub(self.filter.kernel()) / self.stride + 1;
        let bands =
            |image: usize| even(rows, height).map(move |rows| Piece { images: image..image + 1, rows });
        (0..count).flat_map(bands).collect()
    }

    fn piece(&self, plan: &Plan, piece: &Piece, x: &[f32], y: &mut [f32], scratch: &mut Scratch) {
        let (maps, rows) = (piece.images.len(), piece.rows.len());
        let step = plan.step;
        let (input, output) = ([self.reach(rows), plan.columns], [rows, plan.output.sides[1]]);
        let window = Window { maps, input, output, stride: self.stride, step };
        let Scratch { wide, filtered, tables } = scratch;
        let wide = wide.room(maps * input[0] * input[1] * step);
        let filtered = filtered.room(maps * output[0] * output[1] * step);
        self.fill_tables(plan, piece, tables);
        // All of it: what lies around the images stays as it is for all parts.
        wide.fill(0.0);
        let [from, inside, results, to] = &*tables;
        let depth = self.project.depth();
        for part in &plan.parts {
            match &self.expand {
                Some(expand) => {
                    let depth = expand.depth();
                    let source = Source { numbers: x, pixels: from, segments: &[0], run: depth };
                    expand.times(part.clone(), 0..depth, &source, wide, inside);
                }
                None => {
                    for (from, inside) in from.iter().zip(inside) {
                        wide[*inside..][..part.len()].copy_from_slice(&x[from + part.start..][..part.len()]);
                    }
                }
            }
            self.filter.apply(part.clone(), &window, wide, filtered);
            let depth = part.start.min(depth)..part.end.min(depth);
            let source = Source { numbers: filtered, pixels: results, segments: &[0], run: depth.len() };
            self.project.times(0..self.project.channels(), depth, &source, y, to);
        }
    }

    fn fill_tables(&self, plan: &Plan, piece: &Piece, tables: &mut [Vec<usize>; 4]) {
        let [from, inside, results, to] = tables;
        [&mut *from, &mut *inside, &mut *results, &mut *to].into_iter().for_each(Vec::clear);
        let ([rows, columns], [out_rows, out_columns]) = (plan.input.sides, plan.output.sides);
        // The first row of the wide maps, counted from that of the zeros.
        let first = piece.rows.start * self.stride;
        let reach = self.reach(piece.rows.len());
        let kept = first.max(plan.before[0])..(first + reach).min(plan.before[0] + rows);
        for (place, image) in piece.images.clone().enumerate() {
            for row in kept.clone() {
                let start = (image * rows + row - plan.before[0]) * columns;
                let start_inside = (place * reach + row - first) * plan.columns + plan.before[1];
                from.extend((start..start + columns).map(|pixel| pixel * plan.input.step));
                inside.extend((start_inside..start_inside + columns).map(|pixel| pixel * plan.step));
            }
            let start = (image * out_rows + piece.rows.start) * out_columns;
            let pixels = piece.rows.len() * out_columns;
            results.extend((place * pixels..(place + 1) * pixels).map(|pixel| pixel * plan.step));
            to.extend((start..start + pixels).map(|pixel| pixel * plan.output.step));
        }
    }
}

/// `0..count` in as few ranges of at most `most` as possible, as equal as can be.
fn even(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let ranges = count.div_ceil(most.max(1));
    (0..ranges).map(move |number| count * number / ranges..count * (number + 1) / ranges)
}
