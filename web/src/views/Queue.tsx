// What to label next: one row, one key, the next already loaded.

import { useEffect, useState } from 'preact/hooks';

import { discard, label } from '../actions';
import { picture } from '../api';
import { colour } from '../colours';
import { NONE, caption, doubt, now, pictured, placeOfClass, set, use } from '../store';

const AHEAD = 4;

/** Rows that were passed over; they come last. */
const passed = new Set<number>();

/** The row that is shown. */
let asked: number | null = null;

/** The rows still to be asked about, in order. */
function open(): number[] {
  const { fit, marks } = now();
  const left = (fit?.queue ?? []).filter((row) => marks[row] === NONE);
  return [...left.filter((row) => !passed.has(row)), ...left.filter((row) => passed.has(row))];
}

export let answer: (id: number) => void = () => undefined;
export let skip: () => void = () => undefined;

export function Queue() {
  const state = use((all) => all);
  const [, again] = useState(0);
  const queued = open();
  // What somebody looks at stays until it is answered, however the queue behind it changes.
  if (asked === null || state.marks[asked] !== NONE || passed.has(asked)) asked = queued[0] ?? null;
  const row = asked ?? undefined;
  const rows = [...(row === undefined ? [] : [row]), ...queued.filter((other) => other !== row)];

  useEffect(() => {
    if (row !== state.cursor) set({ cursor: row ?? null, selection: new Set() });
    const ahead = rows.slice(1, AHEAD).filter((next) => pictured(state, next));
    ahead.forEach((next) => (new Image().src = picture(next)));
  }, [row]);
  answer = (id) => {
    if (row !== undefined) void label([row], id);
  };
  skip = () => {
    if (row === undefined) return;
    passed.add(row);
    again((times) => times + 1);
  };

  if (row === undefined) {
    const done = state.marks.every((mark) => mark !== NONE);
    return <p class="empty">{done ? 'Every row is labelled.' : 'Looking for what to ask next…'}</p>;
  }
  const learnt = state.fit?.learnt;
  const guess = learnt ? placeOfClass(state, learnt.class[row] ?? NONE) : -1;
  const why = doubt(state, row);
  return (
    <div class="queue">
      <figure>
        {pictured(state, row) ? (
          <img key={row} src={picture(row)} alt={state.pool.ids[row] ?? ''} />
        ) : (
          <p class="words">{caption(state, row)}</p>
        )}
        <figcaption>
          <span class="id">{state.pool.ids[row]}</span>
          <span>
            {guess >= 0 && learnt
              ? `Probably ${state.session.classes[guess]?.name}, ${learnt.probability[row]}%${why && ` · ${why}`}`
              : 'Stands for many rows that nothing labelled is near'}
          </span>
        </figcaption>
      </figure>
      <div class="answers" role="group" aria-label="What is it?">
        {state.session.classes.map((of, place) => (
          <button
            type="button"
            key={of.id}
            class={place === guess ? 'guess' : ''}
            style={{ '--class': colour(place) }}
            onClick={() => answer(of.id)}
          >
            {place < 9 && <kbd>{place + 1}</kbd>}
            <span>{of.name}</span>
          </button>
        ))}
        <button type="button" class="new" onClick={() => set({ dialog: { kind: 'new' } })}>
          <kbd>N</kbd>
          <span>New class</span>
        </button>
        <span class="rest">
          <button type="button" class="quiet" onClick={() => skip()}>
            Skip <kbd>S</kbd>
          </button>
          <button type="button" class="quiet" onClick={() => discard([row])}>
            None of them <kbd>X</kbd>
          </button>
          <button type="button" class="quiet" onClick={() => set({ detail: row })}>
            Why? <kbd>I</kbd>
          </button>
        </span>
      </div>
    </div>
  );
}
