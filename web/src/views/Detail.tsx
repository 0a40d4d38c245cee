// One row: what it is taken for and why, and what was said about it.

import { useEffect, useState } from 'preact/hooks';

import { label, unlabel } from '../actions';
import type { RowDetail } from '../api';
import { get, picture, thumbnail } from '../api';
import { UNLABELLED, colour } from '../colours';
import { NONE, caption, doubt, isUnknown, pictured, placeOfClass, set, use } from '../store';
import type { State } from '../store';

export function Detail({ row }: { row: number }) {
  const state = use((all) => all);
  const [about, setAbout] = useState<RowDetail | null>(null);
  useEffect(() => {
    let wanted = true;
    get<RowDetail>(`/api/row/${row}`).then(
      (found) => wanted && setAbout(found),
      () => wanted && setAbout(null),
    );
    return () => {
      wanted = false;
    };
  }, [row, state.fit?.number, state.session.events]);
  const id = state.pool.ids[row] ?? '';
  const known = about?.row === row ? about : null;
  const mark = state.marks[row] ?? NONE;
  const doubtful = state.fit?.learnt?.doubtful.find((one) => one.row === row);
  const nameOf = (of: number) => state.session.classes[placeOfClass(state, of)]?.name ?? '';
  const tint = (of: number) => {
    const place = placeOfClass(state, of);
    return place < 0 ? UNLABELLED : colour(place);
  };
  return (
    <aside class="detail" aria-label={`Detail of ${id}`}>
      <header>
        <h2 title={id}>{id}</h2>
        <button type="button" class="quiet" aria-label="Close detail" onClick={() => set({ detail: null })}>
          ✕
        </button>
      </header>
      {pictured(state, row) ? <img class="large" src={picture(row)} alt={id} /> : state.pool.texts && <p class="words">{caption(state, row)}</p>}
      {doubtful && mark !== NONE && (
        <p class="warning">
          The other labels say {nameOf(doubtful.class)} ({Math.round(100 * doubtful.probability)}%). Is {nameOf(mark)} right?
        </p>
      )}
      {known?.label && mark === NONE && <p class="why">{reasons(state, row, known.label)}</p>}
      {known && known.likely.length > 0 && (
        <section>
          <h3>{mark === NONE ? 'Probably' : 'Would be'}</h3>
          <ul class="likely">
            {known.likely.map((one) => (
              <li key={one.class}>
                <button type="button" onClick={() => void label([row], one.class)}>
                  <span class="name">{nameOf(one.class)}</span>
                  <span class="meter">
                    <span style={{ width: `${100 * one.probability}%`, background: tint(one.class) }} />
                  </span>
                  <span class="number">{Math.round(100 * one.probability)}%</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {mark !== NONE && (
        <button type="button" class="quiet" onClick={() => unlabel([row])}>
          Remove the label
        </button>
      )}
      {known && known.near.length > 0 && (
        <section>
          <h3>Nearest rows you labelled</h3>
          <ul class="near">
            {known.near.map((one) => (
              <li key={one.row}>
                <button
                  type="button"
                  style={{ '--class': tint(state.marks[one.row] ?? NONE) }}
                  title={state.pool.ids[one.row]}
                  aria-label={`${state.pool.ids[one.row]}, ${nameOf(state.marks[one.row] ?? NONE)}`}
                  onClick={() => set({ detail: one.row })}
                >
                  {pictured(state, one.row) ? <img src={thumbnail(one.row)} alt="" /> : <span class="words">{caption(state, one.row)}</span>}
                  <span>{nameOf(state.marks[one.row] ?? NONE)}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {known && known.history.length > 0 && (
        <section>
          <h3>History</h3>
          <ol class="history">
            {known.history.map((one) => (
              <li key={`${one.at}`}>
                <time dateTime={new Date(one.at).toISOString()}>{new Date(one.at).toLocaleTimeString()}</time>
                {one.mark === null ? 'label removed' : one.mark === false ? 'discarded' : one.mark}
              </li>
            ))}
          </ol>
        </section>
      )}
    </aside>
  );
}

/** Why a row has its label, and what speaks against it, in a sentence or two. */
function reasons(state: State, row: number, label: NonNullable<RowDetail['label']>): string {
  if (isUnknown(state, row)) return 'Looks like nothing you have labelled: it may be of a class that is not there yet.';
  const agreed = `${Math.round(100 * label.agreement)}% of the opinions agree`;
  const lead = `${Math.round(100 * label.margin)} points ahead of the next class`;
  const why = doubt(state, row);
  const worry =
    why === 'close call'
      ? ' Two classes are close.'
      : why === 'opinions differ'
        ? ' The opinions differ.'
        : why === 'edge of its class'
          ? ' It lies at the edge of its class.'
          : '';
  return `${agreed}, ${lead}.${worry}`;
}
