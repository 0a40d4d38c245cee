//! A PNG of a figure, by resvg with a font of our own, so that it looks the same on a machine without fonts.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

/// A subset of DejaVu Sans (free licence, see the file beside it).
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Twice the size of the SVG, on white.
const SCALE: f32 = 2.0;

/// Draws an SVG; none if it is not one, which would be a defect of ours.
pub fn render(svg: &str) -> Option<Vec<u8>> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: "DejaVu Sans".to_owned(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).ok()?;
    let size = tree.size();
    let pixels = |length: f32| (SCALE * length).round() as u32;
    let mut map = tiny_skia::Pixmap::new(pixels(size.width()), pixels(size.height()))?;
    map.fill(tiny_skia::Color::WHITE);
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut map.as_mut());
    map.encode_png().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_shapes_leave_ink() {
        let svg = |body: &str| {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"40\">{body}</svg>")
        };
        let blank = render(&svg("")).expect("an image");
        let text =
            render(&svg("<text x=\"5\" y=\"20\" font-family=\"sans-serif\">IDA</text>")).expect("an image");
        assert_eq!(&text[1..4], b"PNG");
        assert_ne!(blank, text, "the font is there");
        assert_eq!(render("no drawing"), None);
    }
}
