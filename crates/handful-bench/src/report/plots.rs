//! The figures as SVG, drawn with plotters in the colours of Okabe and Ito, which colour-blind readers can tell apart.
//!
//! Series also differ by shape or are labelled, so that print without colour can be read. Ink is one exact colour: the
//! HTML page replaces it by the colour of its text, for dark mode.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::reproduce::figure1::Band;
use crate::reproduce::picture::Picture;

/// Colour of axes and text; `html` looks for it.
pub const INK: RGBColor = RGBColor(27, 27, 31);
pub(super) const GRID: RGBColor = RGBColor(150, 154, 162);

/// Okabe and Ito without black and yellow: blue, orange, green, vermilion, purple, sky.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];

/// Small enough that three fit side by side on a desktop with text that can be read.
const SIZE: (u32, u32) = (380, 290);

/// Room for the name of the y axis, and for each digit of its ticks.
const Y_NAME: u32 = 26;
const DIGIT: u32 = 8;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
/// Drawing into a string cannot fail; what plotters reports leaves an empty figure.
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub(super) fn draw(size: (u32, u32), body: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        if body(&area).and_then(|()| area.present()).is_err() {
            return String::new();
        }
    }
    svg
}

pub(super) fn colour(at: usize) -> RGBColor {
    COLOURS[at % COLOURS.len()]
}

/// A range with a little room; never empty.
pub(super) fn room(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    if low.is_finite() && high > low {
        let margin = 0.05 * (high - low);
        (low - margin, high + margin)
    } else {
        let middle = if low.is_finite() { low } else { 0.0 };
        (middle, middle + 1.0)
    }
}

/// Decimals that tell the ticks of an axis of this length apart.
pub(super) fn decimals(span: f64) -> usize {
    if span > 8.0 { 0 } else { (1.0 - span.max(1e-12).log10()).ceil().max(0.0) as usize }
}

/// A tick's label; the one at zero has no sign.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches('-').chars().all(|digit| "0.".contains(digit)) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

pub(super) fn axes<'a, 'b>(
    area: &'a Area<'b>,
    x: (f64, f64),
    y: (f64, f64),
    names: (&str, &str),
) -> Result<Chart<'a, 'b>, DrawingAreaErrorKind<std::io::Error>> {
    let (x_digits, y_digits) = (decimals(x.1 - x.0), decimals(y.1 - y.0));
    let longest = number(y.0, y_digits).len().max(number(y.1, y_digits).len());
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(18)
        .x_label_area_size(42)
        .y_label_area_size(Y_NAME + DIGIT * longest as u32)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.mix(0.35))
        .axis_style(INK.mix(0.8))
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 14).into_font().color(&INK))
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|value| number(*value, x_digits))
        .y_label_formatter(&|value| number(*value, y_digits))
        .x_desc(names.0)
        .y_desc(names.1)
        .draw()?;
    Ok(chart)
}

fn legend<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>, position: SeriesLabelPosition) -> Drawn {
    chart
        .configure_series_labels()
        .position(position)
        .margin(8)
        .legend_area_size(18)
        .label_font(("sans-serif", 13).into_font().color(&INK))
        .draw()
}

/// A curve with its band.
pub struct Curve<'a> {
    /// The iterations.
    pub steps: &'a [usize],
    /// Mean and percentiles.
    pub band: &'a Band,
    /// Which colour.
    pub colour: usize,
}

/// A mean line inside its band.
pub fn curve(curve: &Curve<'_>, x_name: &str, y_name: &str) -> String {
    draw(SIZE, |area| {
        let x: Vec<f64> = curve.steps.iter().map(|&step| step as f64).collect();
        let band = curve.band;
        let y = room(band.low.iter().chain(&band.high).chain(&band.mean).copied());
        let mut chart = axes(area, (0.0, x.last().copied().unwrap_or(1.0).max(1.0)), y, (x_name, y_name))?;
        let colour = colour(curve.colour);
        let upper = x.iter().copied().zip(band.high.iter().copied());
        let lower = x.iter().copied().zip(band.low.iter().copied()).rev();
        let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
        chart.draw_series([Polygon::new(outline, colour.mix(0.22).filled())])?;
        let mean = x.iter().copied().zip(band.mean.iter().copied());
        chart.draw_series(LineSeries::new(mean, colour.stroke_width(3)))?;
        Ok(())
    })
}

/// A cloud of points.
pub struct Scatter {
    /// Its name.
    pub label: String,
    /// x and y; y as a share, drawn in percent.
    pub points: Vec<(f64, f64)>,
}

/// Clouds of points that differ by colour and shape.
pub fn scatter(clouds: &[Scatter], x_name: &str, y_name: &str) -> String {
    draw((500, 380), |area| {
        let all = || clouds.iter().flat_map(|cloud| cloud.points.iter());
        let x = room(all().map(|point| point.0));
        let mut chart = axes(area, x, (0.0, 104.0), (x_name, y_name))?;
        for (at, cloud) in clouds.iter().enumerate() {
            let colour = colour([4, 1, 0][at % 3]);
            for &(x, y) in &cloud.points {
                let pixel = chart.backend_coord(&(x, 100.0 * y));
                area.draw(&mark(at, pixel, 3, colour.mix(0.55).filled()))?;
            }
            let nothing: [Circle<(f64, f64), i32>; 0] = [];
            chart
                .draw_series(nothing)?
                .label(cloud.label.clone())
                .legend(move |(x, y)| mark(at, (x + 9, y), 5, colour.filled()));
        }
        legend(&mut chart, SeriesLabelPosition::LowerRight)
    })
}

/// Corners of a triangle, square, diamond or inverted triangle around a pixel.
fn corners(shape: usize, (x, y): (i32, i32), s: i32) -> Vec<(i32, i32)> {
    let around = match shape % 5 {
        1 => [(0, -s - 1), (s + 1, s), (-s - 1, s)].to_vec(),
        2 => [(-s, -s), (s, -s), (s, s), (-s, s)].to_vec(),
        3 => [(0, -s - 2), (s + 2, 0), (0, s + 2), (-s - 2, 0)].to_vec(),
        _ => [(0, s + 1), (s + 1, -s), (-s - 1, -s)].to_vec(),
    };
    around.into_iter().map(|(dx, dy)| (x + dx, y + dy)).collect()
}

/// A mark; circles are circles, not polygons, so that they stay round at any size.
pub(super) fn mark<'a>(
    shape: usize,
    at: (i32, i32),
    size: i32,
    style: ShapeStyle,
) -> DynElement<'static, SVGBackend<'a>, (i32, i32)> {
    match shape % 5 {
        0 => Circle::new(at, size, style).into_dyn(),
        _ => Polygon::new(corners(shape, at, size), style).into_dyn(),
    }
}

/// The outline of a mark.
pub(super) fn outline<'a>(
    shape: usize,
    at: (i32, i32),
    size: i32,
    style: ShapeStyle,
) -> DynElement<'static, SVGBackend<'a>, (i32, i32)> {
    if shape.is_multiple_of(5) {
        return Circle::new(at, size, style).into_dyn();
    }
    let mut path = corners(shape, at, size);
    path.extend(path.first().copied());
    PathElement::new(path, style).into_dyn()
}

/// Shares per bar.
pub struct Density<'a> {
    /// Its name.
    pub label: &'static str,
    /// Percent of its total in each bar.
    pub shares: &'a [f64],
    /// Which colour.
    pub colour: usize,
}

/// Histograms over each other, as filled outlines.
pub fn densities(edges: &[f64], densities: &[Density<'_>], x_name: &str, y_name: &str) -> String {
    draw((500, 340), |area| {
        let x = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(1.0));
        let x = if x.1 > x.0 { x } else { (x.0 - 0.5, x.0 + 0.5) };
        let most = densities.iter().flat_map(|d| d.shares.iter().copied()).fold(1e-9, f64::max);
        let mut chart = axes(area, x, (0.0, 1.08 * most), (x_name, y_name))?;
        for density in densities {
            let colour = colour(density.colour);
            let mut outline = vec![(x.0, 0.0)];
            for (pair, &share) in edges.windows(2).zip(density.shares) {
                outline.extend([(pair[0], share), (pair[1], share)]);
            }
            outline.push((x.1, 0.0));
            chart.draw_series([Polygon::new(outline.clone(), colour.mix(0.30).filled())])?;
            chart
                .draw_series(LineSeries::new(outline, colour.stroke_width(2)))?
                .label(density.label)
                .legend(move |(x, y)| Rectangle::new([(x + 2, y - 5), (x + 16, y + 5)], colour.filled()));
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)
    })
}

/// One task in the plane; see the section's text for the marks.
pub fn task(picture: &Picture, labels: &[usize], joined: &[usize]) -> String {
    draw((520, 460), |area| {
        let all = || picture.points.iter().chain(&picture.support);
        let x = room(all().map(|place| place[0]));
        let y = room(all().map(|place| place[1]));
        let chart =
            ChartBuilder::on(area).margin(12).margin_bottom(70).build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        area.draw(&Rectangle::new([(12, 12), (507, 389)], GRID.mix(0.6).stroke_width(1)))?;
        let at = |place: &[f64; 2]| chart.backend_coord(&(place[0], place[1]));
        // Colour 3, vermilion, is left out: next to orange it is the hardest to tell apart.
        let of = |class: usize| colour([0, 1, 2, 4, 5][class % 5]);
        for (row, (place, &label)) in picture.points.iter().zip(labels).enumerate() {
            area.draw(&mark(label, at(place), 5, of(label).filled()))?;
            if joined.contains(&row) {
                area.draw(&Circle::new(at(place), 10, INK.stroke_width(1)))?;
            }
            if picture.truth.get(row) != Some(&label) {
                area.draw(&Cross::new(at(place), 5, INK.stroke_width(2)))?;
            }
        }
        for (place, &class) in picture.support.iter().zip(&picture.support_labels) {
            area.draw(&mark(class, at(place), 10, of(class).filled()))?;
            area.draw(&outline(class, at(place), 10, INK.stroke_width(2)))?;
        }
        let font = || ("sans-serif", 15).into_font().color(&INK);
        for (class, name) in picture.classes.iter().enumerate() {
            let place = (26 + 165 * (class as i32 % 3), 412 + 24 * (class as i32 / 3));
            area.draw(&mark(class, place, 5, of(class).filled()))?;
            area.draw(&Text::new(name.replace('_', " "), (place.0 + 13, place.1 - 7), font()))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_told_apart_and_zero_has_no_sign() {
        assert_eq!([decimals(100.0), decimals(1.0), decimals(0.1), decimals(2e-5)], [0, 1, 2, 6]);
        assert_eq!([number(-1e-9, 3), number(-0.25, 2), number(10.0, 0)], ["0.000", "-0.25", "10"]);
    }

    #[test]
    fn the_longest_tick_fits_before_the_axis() {
        let band = Band { mean: vec![1e-7, 3e-5], low: vec![0.0, 2e-5], high: vec![2e-7, 4e-5] };
        let svg = super::curve(&Curve { steps: &[0, 1], band: &band, colour: 0 }, "x", "y");
        // Ticks of the y axis end at its left; a digit is about 8 wide.
        let ticks = svg.split("<text ").filter(|text| text.contains("text-anchor=\"end\""));
        let mut seen = 0;
        for tick in ticks {
            let at = |key: &str| tick.split(key).nth(1).and_then(|rest| rest.split('"').next());
            let x: f64 = at("x=\"").and_then(|x| x.parse().ok()).expect("a place");
            let digits = tick.split('>').nth(1).expect("text").split('<').next().expect("text").trim().len();
            assert!(x - 7.5 * digits as f64 >= 14.0, "{digits} digits end at {x}: {tick}");
            seen += usize::from(digits > 6);
        }
        assert!(seen > 2, "long ticks are there: {svg}");
    }

    #[test]
    fn empty_series_still_draw_their_axes() {
        assert!(scatter(&[], "x", "y").contains("</svg>"));
        assert!(densities(&[], &[], "x", "y").contains("</svg>"));
        let curve = super::curve(&Curve { steps: &[], band: &Band::default(), colour: 0 }, "x", "y");
        assert!(curve.contains("</svg>"));
    }
}
