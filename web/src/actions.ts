// What people do, from keys, buttons and menus alike.

import { DISCARDED, NONE, now, perform, say, set } from './store';

const photos = (count: number): string => (count === 1 ? '1 row' : `${count.toLocaleString('en')} rows`);

/** The rows that an action is about: the selection, or the row under the cursor. */
export function targets(): number[] {
  const { selection, cursor } = now();
  if (selection.size > 0) return [...selection];
  return cursor === null ? [] : [cursor];
}

/** Labels rows; says whether that worked. */
export async function label(rows: number[], id: number): Promise<boolean> {
  const name = now().session.classes.find((of) => of.id === id)?.name;
  if (name === undefined) return false;
  if (rows.length === 0) {
    say('Select rows first, then press the key of their class', true);
    return false;
  }
  set({ selection: new Set() });
  return perform({ label: { rows, class: id } }, `${photos(rows.length)} labelled ${name}`);
}

export function unlabel(rows: number[]): void {
  const marked = rows.filter((row) => now().marks[row] !== NONE);
  if (marked.length === 0) return;
  set({ selection: new Set() });
  void perform({ unlabel: { rows: marked } }, `Label removed from ${photos(marked.length)}`);
}

export function discard(rows: number[]): void {
  const open = rows.filter((row) => now().marks[row] !== DISCARDED);
  if (open.length === 0) return;
  set({ selection: new Set() });
  void perform({ discard: { rows: open } }, `${photos(open.length)} discarded`);
}

export async function newClass(name: string, rows: number[]): Promise<boolean> {
  const done = await perform(
    { 'new-class': { name, rows } },
    rows.length > 0 ? `New class ${name} with ${photos(rows.length)}` : `New class ${name}`,
  );
  if (done) set({ selection: new Set() });
  return done;
}

export const undo = (): void => void perform('undo', 'Undone');
export const redo = (): void => void perform('redo', 'Done again');

/** Selects the rows, or adds them. */
export function select(rows: Iterable<number>, add = false): void {
  set({ selection: new Set(add ? [...now().selection, ...rows] : rows) });
}
