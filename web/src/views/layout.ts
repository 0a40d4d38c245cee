// Where the cells of the grid are: sections of rows under headings, of which only those in sight are drawn.

import type { State } from '../store';
import { DISCARDED, NONE, isUnknown, placeOfClass, shownClass } from '../store';

export interface Section {
  /** A class, DISCARDED or NONE. */
  id: number;
  name: string;
  rows: number[];
  top: number;
}

export interface Cell {
  row: number;
  section: number;
  left: number;
  top: number;
}

export interface Layout {
  sections: Section[];
  /** All rows in the order they are shown. */
  order: number[];
  columns: number;
  size: number;
  height: number;
  place: (row: number) => Cell | undefined;
  between: (top: number, bottom: number) => Cell[];
}

export const HEADING = 44;
const GAP = 8;

/** The rows that are shown, by class, sorted by certainty. */
export function sections(state: State): Section[] {
  const { pool, marks, session, fit, search, only, view, doubtfulFirst } = state;
  const wanted = search.trim().toLowerCase();
  const nameOf = new Map(session.classes.map((of) => [of.id, of.name]));
  const rowsOf = new Map<number, number[]>();
  for (let row = 0; row < pool.rows; row += 1) {
    const shown = shownClass(state, row);
    if (view === 'unknown' && !isUnknown(state, row) && shown !== DISCARDED) continue;
    if (only !== null && shown !== only) continue;
    if (wanted !== '') {
      const name = (nameOf.get(shown) ?? '').toLowerCase();
      if (!name.includes(wanted) && ![pool.ids[row], pool.texts?.[row]].some((text) => text?.toLowerCase().includes(wanted))) continue;
    }
    // Nothing is known of the class of a row that looks like none.
    const id = view === 'unknown' && shown !== DISCARDED ? NONE : shown;
    const rows = rowsOf.get(id);
    if (rows) rows.push(row);
    else rowsOf.set(id, [row]);
  }
  const probability = fit?.learnt?.probability;
  const certainty = (row: number): number => ((marks[row] ?? NONE) === NONE ? (probability?.[row] ?? 0) : 101);
  const order = (id: number): number =>
    id === DISCARDED ? Number.MAX_SAFE_INTEGER : id === NONE ? -1 : placeOfClass(state, id);
  const name = (id: number): string =>
    id === DISCARDED
      ? 'Discarded'
      : id === NONE
        ? view === 'unknown'
          ? 'Look like nothing labelled'
          : 'Not labelled yet'
        : (nameOf.get(id) ?? 'Class that is gone');
  return [...rowsOf]
    .sort(([a], [b]) => order(a) - order(b))
    .map(([id, rows]) => {
      rows.sort((a, b) => (doubtfulFirst ? certainty(a) - certainty(b) : certainty(b) - certainty(a)) || a - b);
      return { id, name: name(id), rows, top: 0 };
    });
}

export function arrange(shown: Section[], width: number, wanted: number): Layout {
  const columns = Math.max(2, Math.floor((width + GAP) / (wanted + GAP)));
  const size = Math.floor((width - GAP * (columns - 1)) / columns);
  let top = 0;
  const placed = shown.map((section) => {
    const at = { ...section, top };
    top += HEADING + Math.ceil(section.rows.length / columns) * (size + GAP) + GAP;
    return at;
  });
  const where = new Map<number, [number, number]>();
  placed.forEach((section, at) => section.rows.forEach((row, index) => where.set(row, [at, index])));
  const cell = (section: number, index: number): Cell | undefined => {
    const of = placed[section];
    const row = of?.rows[index];
    if (!of || row === undefined) return undefined;
    const left = (index % columns) * (size + GAP);
    return { row, section, left, top: of.top + HEADING + Math.floor(index / columns) * (size + GAP) };
  };
  return {
    sections: placed,
    order: placed.flatMap((section) => section.rows),
    columns,
    size,
    height: top,
    place: (row) => {
      const at = where.get(row);
      return at && cell(at[0], at[1]);
    },
    between: (from, to) => {
      const cells: Cell[] = [];
      placed.forEach((section, at) => {
        const start = section.top + HEADING;
        const first = Math.max(0, Math.floor((from - start) / (size + GAP)));
        const last = Math.min(Math.ceil(section.rows.length / columns) - 1, Math.floor((to - start) / (size + GAP)));
        for (let index = first * columns; index < (last + 1) * columns; index += 1) {
          const found = cell(at, index);
          if (found) cells.push(found);
        }
      });
      return cells;
    },
  };
}
