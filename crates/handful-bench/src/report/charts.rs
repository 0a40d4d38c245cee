//! Charts that several pages share: values with intervals, accuracy against time, reliability, points in the plane.
//!
//! A name stands above its line rather than beside it, so that long names can be read on a phone.

use plotters::prelude::*;

use super::plots::{Drawn, GRID, INK, colour, decimals, draw, mark, number, outline, room};

const WIDTH: i32 = 400;
const LEFT: i32 = 14;
const RIGHT: i32 = WIDTH - 14;
/// From one line to the next: a name, and a strip for each series.
const NAME: i32 = 17;
const STRIP: i32 = 15;
const FOOT: i32 = 46;

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The value.
    pub mean: f64,
    /// Half of the interval.
    pub half: f64,
}

/// A line of a chart: a name and a value of each series, where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name.
    pub name: String,
    /// A value for each series.
    pub values: Vec<Option<Interval>>,
}

fn font(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Values with their intervals, a line for each name; with `zero`, a rule at zero and intervals that do not touch it filled.
pub fn intervals(lines: &[Line], series: &[String], x_name: &str, zero: bool) -> String {
    let count = series.len().max(1) as i32;
    let step = NAME + STRIP * count + 5;
    let legend = if series.len() > 1 { 24 } else { 0 };
    let height = legend + step * lines.len().max(1) as i32 + FOOT + 8;
    draw((WIDTH as u32, height as u32), |area| {
        let ends = || {
            let values = lines.iter().flat_map(|line| line.values.iter().flatten());
            values
                .flat_map(|value| [value.mean - value.half, value.mean + value.half])
                .chain(zero.then_some(0.0))
        };
        let (low, high) = room(ends());
        let x = |value: f64| LEFT + ((value - low) / (high - low) * f64::from(RIGHT - LEFT)).round() as i32;
        let bottom = height - FOOT;
        ticks(area, low, high, &x, legend, bottom)?;
        for (at, name) in series.iter().enumerate().filter(|_| series.len() > 1) {
            let place = (LEFT + 6 + 110 * at as i32, 10);
            area.draw(&mark(at, place, 5, colour(at).filled()))?;
            area.draw(&Text::new(name.clone(), (place.0 + 11, place.1 - 7), font(13)))?;
        }
        for (row, line) in lines.iter().enumerate() {
            let top = legend + 4 + step * row as i32;
            // The rule at zero leaves room for the names.
            if zero {
                let strips = [(x(0.0), top + NAME), (x(0.0), top + step - 4)];
                area.draw(&PathElement::new(strips, INK.mix(0.7).stroke_width(1)))?;
            }
            area.draw(&Text::new(shortened(&line.name), (LEFT, top), font(13)))?;
            for (at, value) in line.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let y = top + NAME + STRIP * at as i32 + STRIP / 2;
                let (from, to) = (x(value.mean - value.half), x(value.mean + value.half));
                let undecided = zero && value.mean.abs() <= value.half;
                let ink = if undecided { GRID } else { colour(at) };
                area.draw(&PathElement::new([(from, y), (to, y)], ink.stroke_width(3)))?;
                area.draw(&mark(at, (x(value.mean), y), 5, ink.filled()))?;
            }
        }
        area.draw(&Text::new(x_name.to_owned(), (LEFT, height - 20), font(13)))
    })
}

/// Round values along an axis, each with a thin rule.
fn ticks(
    area: &super::plots::Area<'_>,
    low: f64,
    high: f64,
    x: &dyn Fn(f64) -> i32,
    top: i32,
    bottom: i32,
) -> Drawn {
    let span = high - low;
    let power = 10f64.powf((span / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| span / step <= 6.0);
    let step = step.unwrap_or(span.max(1e-9));
    let digits = decimals(step * 5.0);
    let mut value = (low / step).ceil() * step;
    while value <= high {
        let at = x(value);
        area.draw(&PathElement::new([(at, top), (at, bottom)], GRID.mix(0.35).stroke_width(1)))?;
        let text = number(value, digits);
        area.draw(&Text::new(text.clone(), (at - 4 * text.chars().count() as i32, bottom + 6), font(12)))?;
        value += step;
    }
    Ok(())
}

/// What has room on a line.
fn shortened(name: &str) -> String {
    const MOST: usize = 52;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

/// A method in the plane of time and accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Its name.
    pub name: String,
    /// Milliseconds.
    pub milliseconds: f64,
    /// Percent.
    pub accuracy: f64,
}

/// Accuracy against time on a logarithmic axis; every point is named.
pub fn accuracy_against_time(points: &[Timed]) -> String {
    const HEIGHT: i32 = 330;
    draw((WIDTH as u32, HEIGHT as u32), |area| {
        let log = |value: f64| value.max(1e-6).log10();
        let times = || points.iter().map(|point| log(point.milliseconds));
        let (low, high) =
            (times().fold(f64::INFINITY, f64::min).floor(), times().fold(-6.0, f64::max).ceil());
        let (low, high) = if low < high { (low, high) } else { (high - 1.0, high) };
        let y = room(points.iter().map(|point| point.accuracy));
        let (left, bottom, top) = (46, HEIGHT - FOOT, 14);
        let across = |value: f64| left + ((value - low) / (high - low) * f64::from(RIGHT - left)) as i32;
        let up = |value: f64| bottom - ((value - y.0) / (y.1 - y.0) * f64::from(bottom - top)) as i32;
        for power in low as i32..=high as i32 {
            let at = across(f64::from(power));
            area.draw(&PathElement::new([(at, top), (at, bottom)], GRID.mix(0.35).stroke_width(1)))?;
            let text = if power < 0 {
                format!("{:.*}", (-power) as usize, 10f64.powi(power))
            } else {
                format!("{:.0}", 10f64.powi(power))
            };
            area.draw(&Text::new(text.clone(), (at - 4 * text.len() as i32, bottom + 6), font(12)))?;
        }
        let digits = decimals(y.1 - y.0);
        for fifth in 0..=4 {
            let value = y.0 + (y.1 - y.0) * f64::from(fifth) / 4.0;
            area.draw(&PathElement::new(
                [(left, up(value)), (RIGHT, up(value))],
                GRID.mix(0.35).stroke_width(1),
            ))?;
            let text = number(value, digits);
            area.draw(&Text::new(text.clone(), (left - 6 - 7 * text.len() as i32, up(value) - 7), font(12)))?;
        }
        let mut taken: Vec<(i32, i32, i32)> = Vec::new();
        for (at, point) in points.iter().enumerate() {
            let place = (across(log(point.milliseconds)), up(point.accuracy));
            area.draw(&mark(at, place, 5, colour(at).filled()))?;
            // On the side that has room, moved down until it covers no other name.
            let length = (7 * point.name.chars().count() as i32).min(RIGHT - left);
            let x =
                if place.0 + 9 + length <= RIGHT + 8 { place.0 + 9 } else { (place.0 - 9 - length).max(4) };
            let clear = |y: i32| {
                taken.iter().all(|&(from, to, other)| (y - other).abs() >= 14 || x > to || x + length < from)
            };
            let free = (0..12).flat_map(|step| [place.1 - 7 + 14 * step, place.1 - 7 - 14 * step]);
            let y = free.filter(|y| *y >= 0 && *y <= bottom - 14).find(|y| clear(*y)).unwrap_or(place.1 - 7);
            taken.push((x, x + length, y));
            area.draw(&Text::new(point.name.clone(), (x, y), font(12)))?;
        }
        area.draw(&Text::new("ms a task, logarithmic; accuracy %", (left, HEIGHT - 20), font(13)))
    })
}

/// Stated against observed: for each bar of probability its mean, the share that was right, and how many there were.
pub fn reliability(bars: &[(f64, f64, usize)]) -> String {
    draw((380, 330), |area| {
        let mut chart =
            super::plots::axes(area, (0.0, 1.0), (0.0, 1.04), ("stated probability", "share right"))?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], GRID.stroke_width(2)))?;
        let points: Vec<(f64, f64)> = bars.iter().map(|&(stated, right, _)| (stated, right)).collect();
        chart.draw_series(LineSeries::new(points, colour(0).stroke_width(2)))?;
        for &(stated, right, count) in bars {
            let size = 3 + (count as f64).sqrt().min(9.0) as i32;
            area.draw(&Circle::new(chart.backend_coord(&(stated, right)), size, colour(0).filled()))?;
        }
        Ok(())
    })
}

/// Points in the plane by class, the uncertain ones hollow.
pub struct Dot {
    /// Its place.
    pub place: [f32; 2],
    /// Its class.
    pub class: usize,
    /// Whether its label can be relied on.
    pub certain: bool,
    /// Whether it was given.
    pub given: bool,
}

/// A map of a pool; classes beyond the sixth repeat colours with another shape.
pub fn map(dots: &[Dot], classes: &[String]) -> String {
    const SHOWN: usize = 30;
    let lines = classes.len().min(SHOWN).div_ceil(2) as i32;
    let height = 440 + 20 * lines;
    draw((440, height as u32), |area| {
        let x = room(dots.iter().map(|dot| f64::from(dot.place[0])));
        let y = room(dots.iter().map(|dot| f64::from(dot.place[1])));
        let at = |dot: &Dot| {
            let across = (f64::from(dot.place[0]) - x.0) / (x.1 - x.0);
            let up = (f64::from(dot.place[1]) - y.0) / (y.1 - y.0);
            (10 + (420.0 * across) as i32, 430 - (420.0 * up) as i32)
        };
        let shape = |class: usize| class / 6;
        for dot in dots.iter().filter(|dot| !dot.given) {
            let (ink, shape) = (colour(dot.class), shape(dot.class));
            area.draw(&match dot.certain {
                true => mark(shape, at(dot), 3, ink.mix(0.8).filled()),
                false => outline(shape, at(dot), 3, ink.stroke_width(1)),
            })?;
        }
        for dot in dots.iter().filter(|dot| dot.given) {
            area.draw(&mark(shape(dot.class), at(dot), 6, colour(dot.class).filled()))?;
            area.draw(&Circle::new(at(dot), 8, INK.stroke_width(2)))?;
        }
        for (class, name) in classes.iter().take(SHOWN).enumerate() {
            let place = (18 + 212 * (class as i32 % 2), 452 + 20 * (class as i32 / 2));
            area.draw(&mark(shape(class), place, 5, colour(class).filled()))?;
            let name: String = name.chars().take(26).collect();
            area.draw(&Text::new(name, (place.0 + 11, place.1 - 7), font(13)))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_nothing_are_drawn_too() {
        for svg in
            [intervals(&[], &[], "x", true), accuracy_against_time(&[]), reliability(&[]), map(&[], &[])]
        {
            assert!(svg.contains("</svg>"), "{svg}");
        }
    }

    #[test]
    fn every_name_is_in_the_chart() {
        let value = Some(Interval { mean: 1.0, half: 0.2 });
        let lines = [Line { name: "dm-ida".into(), values: vec![value, None] }];
        let svg = intervals(&lines, &["1-shot".into(), "5-shot".into()], "accuracy %", false);
        for word in ["dm-ida", "1-shot", "5-shot", "accuracy %"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
        let timed = |name: &str| Timed { name: name.into(), milliseconds: 1.0, accuracy: 50.0 };
        let svg = accuracy_against_time(&[timed("one"), timed("two")]);
        assert!(svg.contains("one") && svg.contains("two"), "{svg}");
    }
}
