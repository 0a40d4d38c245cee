//! Small pictures inside the page: what each class looks like, at its surest and at its most doubtful.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handful_bench::report::page::escape;
use rayon::prelude::*;

use super::super::Job;

/// Longest side, and what JPEG makes of it: about three kilobytes each.
const SIDE: u32 = 112;
const QUALITY: u8 = 72;
/// Pictures of a class, and classes.
const SUREST: usize = 12;
const MOST_DOUBTFUL: usize = 6;
const MOST_CLASSES: usize = 24;

/// A picture with what is said about it.
pub struct Tile {
    /// The row.
    pub row: usize,
    /// Words below the picture.
    pub words: String,
    /// How it is framed: `given`, `doubt` or nothing.
    pub frame: &'static str,
}

/// Pictures beside each other; rows without one, or with one that cannot be read, show their id.
pub fn tiles(out: &mut String, job: &Job, tiles: &[Tile]) {
    let picture = |tile: &Tile| {
        let pictures = job.pictures.as_ref()?;
        let image = *pictures.of_row.get(tile.row)?.as_ref()?;
        pictures.dataset.jpeg(image, Some(SIDE), QUALITY).ok()
    };
    let pictures: Vec<Option<Vec<u8>>> = tiles.par_iter().map(picture).collect();
    out.push_str("<div class=\"sheet\">");
    for (tile, picture) in tiles.iter().zip(pictures) {
        let id = escape(&job.table.id(tile.row));
        let _ = write!(out, "<div class=\"{}\" title=\"{id}\">", tile.frame);
        match picture {
            Some(bytes) => {
                let _ = write!(
                    out,
                    "<img alt=\"{id}\" loading=\"lazy\" src=\"data:image/jpeg;base64,{}\">",
                    STANDARD.encode(bytes)
                );
            }
            None => {
                let _ = write!(out, "<span>{id}</span>");
            }
        }
        let _ = write!(out, "<span>{}</span></div>", escape(&tile.words));
    }
    out.push_str("</div>\n");
}

/// The sheet, where the pool is images.
pub fn by_class(out: &mut String, job: &Job) {
    if job.pictures.is_none() {
        return;
    }
    out.push_str(
        "<section id=\"sheet\"><h2>Contact sheet</h2>\n<p>Of each class the given images (blue), the surest, and the least \
         sure (orange), with their probabilities.</p>\n",
    );
    let rows = &job.labelling.rows;
    let more = job.given.classes.len().saturating_sub(MOST_CLASSES);
    for (class, name) in job.given.classes.iter().enumerate().take(MOST_CLASSES) {
        let mut of_class: Vec<usize> =
            (0..rows.len()).filter(|&row| rows[row].class == class && !job.rejected[row]).collect();
        of_class.sort_by(|&a, &b| {
            let key = |row: usize| (rows[row].given, rows[row].probability);
            key(b).0.cmp(&key(a).0).then(key(b).1.total_cmp(&key(a).1)).then(a.cmp(&b))
        });
        let surest = of_class.len().min(SUREST);
        let doubtful = of_class.len().saturating_sub(MOST_DOUBTFUL).max(surest);
        let shown = of_class[..surest].iter().chain(&of_class[doubtful..]);
        let list: Vec<Tile> = shown
            .enumerate()
            .map(|(at, &row)| Tile {
                row,
                words: if rows[row].given {
                    "given".to_owned()
                } else {
                    format!("{:.2}", rows[row].probability)
                },
                frame: match (rows[row].given, at >= surest) {
                    (true, _) => "given",
                    (false, true) => "doubt",
                    (false, false) => "",
                },
            })
            .collect();
        let _ =
            writeln!(out, "<h3>{} <small class=\"note\">{} rows</small></h3>", escape(name), of_class.len());
        tiles(out, job, &list);
    }
    if more > 0 {
        let _ = writeln!(out, "<p class=\"note\">{more} more classes are not shown.</p>");
    }
    out.push_str("</section>\n");
}
