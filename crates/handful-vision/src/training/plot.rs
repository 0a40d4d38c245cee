//! Loss and accuracies of the epochs as a picture (SVG).

use super::checkpoint::EpochMetrics;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 56.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// A curve: its name, its colour, and a value for each epoch that has one.
struct Curve<'a> {
    name: &'a str,
    colour: &'a str,
    points: Vec<(usize, f64)>,
    top: f64,
}

/// Draws the epochs: the loss on the left axis, accuracies on the right one.
pub fn svg(history: &[EpochMetrics]) -> String {
    let greatest = history.iter().map(|epoch| epoch.loss).fold(0.0, f64::max);
    let loss_top = if greatest > 0.0 { greatest.ceil() } else { 1.0 };
    let points = |value: &dyn Fn(&EpochMetrics) -> Option<f64>| {
        history.iter().filter_map(|epoch| Some((epoch.epoch, value(epoch)?))).collect::<Vec<_>>()
    };
    let curves = [
        Curve { name: "loss", colour: "#b03a2e", points: points(&|epoch| Some(epoch.loss)), top: loss_top },
        Curve {
            name: "accuracy",
            colour: "#2471a3",
            points: points(&|epoch| Some(epoch.accuracy)),
            top: 1.0,
        },
        Curve {
            name: "validation 1-shot",
            colour: "#1e8449",
            points: points(&|epoch| epoch.validation),
            top: 1.0,
        },
    ];
    let last = history.iter().map(|epoch| epoch.epoch).max().unwrap_or(1);
    let (inner_width, inner_height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let x = |epoch: usize| LEFT + inner_width * (epoch as f64 - 1.0) / (last.max(2) as f64 - 1.0);
    let y = |share: f64| TOP + inner_height * (1.0 - share.clamp(0.0, 1.0));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for line in 0..=4 {
        let share = f64::from(line) / 4.0;
        let (left, right, height) = (LEFT, WIDTH - RIGHT, y(share));
        out.push_str(&format!(
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{height:.1}\" y2=\"{height:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{:.0}%</text>\n",
            left - 6.0,
            height + 4.0,
            share * loss_top,
            right + 6.0,
            height + 4.0,
            share * 100.0
        ));
    }
    for epoch in [1, last.div_ceil(2), last] {
        let (at, under) = (x(epoch), HEIGHT - BOTTOM + 18.0);
        out.push_str(&format!("<text x=\"{at:.1}\" y=\"{under}\" text-anchor=\"middle\">{epoch}</text>\n"));
    }
    out.push_str(&format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">epoch</text>\n",
        WIDTH / 2.0,
        HEIGHT - 10.0
    ));
    for (place, curve) in curves.iter().filter(|curve| !curve.points.is_empty()).enumerate() {
        let places: Vec<(f64, f64)> =
            curve.points.iter().map(|&(epoch, value)| (x(epoch), y(value / curve.top))).collect();
        let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        out.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
            line.join(" "),
            curve.colour
        ));
        for (x, y) in &places {
            out.push_str(&format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{}\"/>\n",
                curve.colour
            ));
        }
        let at = LEFT + 150.0 * place as f64;
        out.push_str(&format!("<text x=\"{at}\" y=\"20\" fill=\"{}\">{}</text>\n", curve.colour, curve.name));
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_is_a_point_of_every_curve_that_has_it() {
        let epoch = |epoch, validation| EpochMetrics {
            epoch,
            rate: 0.1,
            loss: 4.0 / epoch as f64,
            accuracy: 0.2 * epoch as f64,
            validation,
            seconds: 1.0,
        };
        let picture = svg(&[epoch(1, Some(0.3)), epoch(2, None), epoch(3, Some(0.5))]);
        assert_eq!(picture.matches("<circle").count(), 3 + 3 + 2);
        assert_eq!(picture.matches("<polyline").count(), 3);
        assert!(!picture.contains("NaN"));
        assert!(!svg(&[]).contains("NaN"));
    }
}
