// Everything the page knows, in one place; views read it through `use`.

import { useEffect, useState } from 'preact/hooks';

import type { Act, Fit, Places, Pool, SessionState } from './api';
import * as api from './api';

export type View = 'grid' | 'queue' | 'map' | 'unknown';
export const NONE = -2;
export const DISCARDED = -1;

export interface State {
  pool: Pool;
  session: SessionState;
  /** What is said about each row: a class, DISCARDED or NONE. */
  marks: Int32Array;
  fit: Fit | null;
  /** Where rows are on the map, once somebody has looked. */
  places: Places | null;
  /** Rows without an image. */
  bare: ReadonlySet<number>;
  /** Rows whose predicted class changed with the latest fit. */
  moved: Set<number>;
  view: View;
  selection: ReadonlySet<number>;
  /** The row that keys act on where nothing is selected. */
  cursor: number | null;
  detail: number | null;
  search: string;
  /** Only this class is shown. */
  only: number | null;
  doubtfulFirst: boolean;
  help: boolean;
  connected: boolean;
  message: { text: string; wrong: boolean; at: number } | null;
  dialog: { kind: 'new' } | { kind: 'rename'; class: number } | { kind: 'merge'; class: number } | null;
}

let state: State;
const listeners = new Set<() => void>();

export const now = (): State => state;

export function set(change: Partial<State>): void {
  state = { ...state, ...change };
  listeners.forEach((listener) => listener());
}

/** Part of the state; the view renders again when it is another. */
export function use<T>(select: (state: State) => T): T {
  const [value, update] = useState(() => select(state));
  useEffect(() => {
    const listener = () => update(() => select(state));
    listener();
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return value;
}

export function say(text: string, wrong = false): void {
  set({ message: { text, wrong, at: Date.now() } });
}

function marksOf(session: SessionState, rows: number): Int32Array {
  const marks = new Int32Array(rows).fill(NONE);
  for (const [row, mark] of session.marks) marks[row] = mark;
  return marks;
}

function takeSession(session: SessionState): void {
  if (session.events < state.session.events) return;
  const marks = marksOf(session, state.pool.rows);
  // What the server has not answered yet is not in there, and must not be asked again.
  for (const guess of guesses) for (const row of guess.rows) marks[row] = guess.mark;
  set({ session, marks });
}

function takeFit(fit: Fit): void {
  if (state.fit && fit.number < state.fit.number) return;
  const before = state.fit?.learnt?.class;
  const after = fit.learnt?.class;
  const moved = new Set<number>();
  if (before && after && fit.events !== state.fit?.events) {
    after.forEach((now, row) => {
      if (now !== before[row]) moved.add(row);
    });
  }
  set({ fit, moved: fit.events === state.fit?.events ? state.moved : moved });
}

export async function start(): Promise<void> {
  const [pool, session, fit] = await Promise.all([
    api.get<Pool>('/api/pool'),
    api.get<SessionState>('/api/state'),
    api.get<Fit>('/api/fit'),
  ]);
  state = {
    pool,
    session,
    marks: marksOf(session, pool.rows),
    fit,
    places: null,
    bare: new Set(pool.without_image),
    moved: new Set(),
    view: 'grid',
    selection: new Set(),
    cursor: null,
    detail: null,
    search: '',
    only: null,
    doubtfulFirst: true,
    help: false,
    connected: true,
    message: null,
    dialog: null,
  };
  api.listen(
    (notice) => {
      if (notice.fit !== state.fit?.number) void api.get<Fit>('/api/fit').then(takeFit);
      newestMap = notice.map;
      if (state.places && newestMap > state.places.version) void lookAtMap();
      if (notice.events > state.session.events) {
        void api.get<SessionState>('/api/state').then(takeSession);
      }
    },
    (connected) => {
      if (connected !== state.connected) set({ connected });
    },
  );
}

let looking = false;
let newestMap = 0;

/** Fetches the map, which gets better as long as somebody looks at it. */
export async function lookAtMap(): Promise<void> {
  if (looking) return;
  looking = true;
  try {
    // A version that came while we fetched the one before is fetched as well.
    do {
      const places = await api.get<Places>('/api/map');
      if (!state.places || places.version > state.places.version) set({ places });
    } while ((state.places?.version ?? 0) < newestMap);
  } finally {
    looking = false;
  }
}

/** What a row is called: its text, or its name. */
export const caption = (state: State, row: number): string =>
  state.pool.texts?.[row] ?? state.pool.ids[row] ?? '';

/** Whether a row has an image. */
export const pictured = (state: State, row: number): boolean => state.pool.images > 0 && !state.bare.has(row);

interface Guess {
  rows: number[];
  mark: number;
}

/** What was done on the page and is not answered yet, in order. */
const guesses = new Set<Guess>();

/** Does it at once on the page; what the server says then counts. */
export async function perform(what: Act, said: string): Promise<boolean> {
  const guess = guessed(what);
  if (guess) {
    guesses.add(guess);
    const marks = state.marks.slice();
    for (const row of guess.rows) marks[row] = guess.mark;
    set({ marks });
  }
  try {
    const session = await api.act(what);
    if (guess) guesses.delete(guess);
    takeSession(session);
    say(said);
    return true;
  } catch (error) {
    if (guess) guesses.delete(guess);
    takeSession(state.session);
    say(error instanceof Error ? error.message : 'the studio does not answer', true);
    return false;
  }
}

function guessed(what: Act): Guess | null {
  if (typeof what === 'string') return null;
  if ('label' in what) return { rows: what.label.rows, mark: what.label.class };
  if ('unlabel' in what) return { rows: what.unlabel.rows, mark: NONE };
  if ('discard' in what) return { rows: what.discard.rows, mark: DISCARDED };
  return null;
}

/** The class a row is shown under: what was said about it, or what is predicted. */
export function shownClass(state: State, row: number): number {
  const mark = state.marks[row] ?? NONE;
  return mark === NONE ? (state.fit?.learnt?.class[row] ?? NONE) : mark;
}

export const isUnknown = (state: State, row: number): boolean =>
  ((state.fit?.learnt?.flags[row] ?? 0) & 2) !== 0 && state.marks[row] === NONE;

const DOUBTS = ['', 'close call', 'opinions differ', 'edge of its class'];

/** Why the label of a row is in doubt, in two or three words. */
export function doubt(state: State, row: number): string {
  if (state.marks[row] !== NONE) return '';
  return isUnknown(state, row) ? 'unlike any label' : (DOUBTS[(state.fit?.learnt?.flags[row] ?? 0) >> 2] ?? '');
}

export const placeOfClass = (state: State, id: number): number =>
  state.session.classes.findIndex((of) => of.id === id);
