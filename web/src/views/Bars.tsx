// Above and below the rows: where we are, how far we are, what is selected.

import { useEffect, useRef, useState } from 'preact/hooks';

import { discard, label, redo, targets, undo, unlabel } from '../actions';
import { address, makeLinks } from '../api';
import { colour } from '../colours';
import type { View } from '../store';
import { NONE, isUnknown, now, say, set, use } from '../store';

const VIEWS: [View, string][] = [
  ['grid', 'Grid'],
  ['queue', 'Queue'],
  ['map', 'Map'],
  ['unknown', 'Unknown'],
];

export function show(view: View): void {
  if (now().view !== view) set({ view, selection: new Set() });
}

export function Top() {
  const { view, session, search, doubtfulFirst, pool, fit, marks } = use((all) => all);
  const unknown = fit?.learnt?.calibrated ? pool.ids.filter((_, row) => isUnknown(now(), row)).length : 0;
  const whole = marks.length;
  return (
    <header class="top">
      <div class="views" role="group" aria-label="View">
        {VIEWS.map(([name, title]) => (
          <button type="button" key={name} aria-pressed={view === name} onClick={() => show(name)}>
            {title}
            {name === 'unknown' && unknown > 0 && <span class="badge">{unknown}</span>}
          </button>
        ))}
      </div>
      <input
        id="search"
        type="search"
        placeholder={`Search ${whole.toLocaleString('en')} rows`}
        aria-label="Search by name or label"
        value={search}
        onInput={(event) => set({ search: event.currentTarget.value, view: view === 'unknown' ? view : 'grid' })}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      {(view === 'grid' || view === 'unknown') && (
        <label class="sort">
          <span class="hidden">Sort</span>
          <select
            aria-label="Sort"
            value={doubtfulFirst ? 'doubtful' : 'certain'}
            onChange={(event) => set({ doubtfulFirst: event.currentTarget.value === 'doubtful' })}
          >
            <option value="doubtful">Doubtful first</option>
            <option value="certain">Certain first</option>
          </select>
        </label>
      )}
      <div class="tools">
        <button type="button" disabled={!session.undo} aria-label="Undo" title="Undo (Z)" onClick={undo}>
          ↶
        </button>
        <button type="button" disabled={!session.redo} aria-label="Redo" title="Redo (Shift Z)" onClick={redo}>
          ↷
        </button>
        <Export />
        <Theme />
        <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => set({ help: true })}>
          ?
        </button>
      </div>
    </header>
  );
}

const EXPORTS: [string, string][] = [
  ['labels.csv', 'Your labels (CSV)'],
  ['labelled.csv', 'Whole pool (CSV)'],
  ['labelled.jsonl', 'Whole pool (JSON lines)'],
  ['labelled.parquet', 'Whole pool (Parquet)'],
  ['label-studio.json', 'Label Studio tasks'],
  ['model.safetensors', 'Model for handful predict'],
];

function Export() {
  const learnt = use((all) => all.fit?.learnt !== null);
  const box = useRef<HTMLDetailsElement>(null);
  const links = async () => {
    if (box.current) box.current.open = false;
    try {
      say(`Sorted into ${(await makeLinks()).folder}`);
    } catch (error) {
      say(error instanceof Error ? error.message : 'the studio does not answer', true);
    }
  };
  useEffect(() => {
    const close = (event: Event) => {
      if (box.current && !box.current.contains(event.target as Node)) box.current.open = false;
    };
    addEventListener('pointerdown', close);
    return () => removeEventListener('pointerdown', close);
  }, []);
  return (
    <details class="export" ref={box}>
      <summary>Export</summary>
      <ul>
        {EXPORTS.filter(([name]) => learnt || name === 'labels.csv').map(([name, title]) => (
          <li key={name}>
            <a href={address(`/api/export/${name}`)} download={name} onClick={() => box.current && (box.current.open = false)}>
              {title}
            </a>
          </li>
        ))}
        {learnt && now().pool.links && (
          <li>
            <button type="button" class="quiet" onClick={() => void links()}>
              Folders of links, beside the pool
            </button>
          </li>
        )}
      </ul>
    </details>
  );
}

function Theme() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const follow = () => document.documentElement.dataset['theme'] ?? setDark(system.matches);
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, []);
  const toggle = () => {
    document.documentElement.dataset['theme'] = dark ? 'light' : 'dark';
    setDark(!dark);
  };
  return (
    <button type="button" class="theme" aria-label={dark ? 'Light colours' : 'Dark colours'} onClick={toggle}>
      {dark ? '☀' : '☾'}
    </button>
  );
}

const number = (value: number): string => value.toLocaleString('en');

/** How far we are: what is labelled, what is accepted, what it may still take. */
export function Progress() {
  const { pool, marks, fit, session, connected } = use((all) => all);
  const given = marks.reduce((count, mark) => count + (mark === NONE ? 0 : 1), 0);
  const learnt = fit?.learnt;
  const accepted = learnt?.accepted ?? 0;
  const limit = `${Math.round(100 * pool.max_error)}%`;
  const stale = fit !== null && (!fit.full || fit.events !== session.events) && learnt !== null && learnt !== undefined;
  const text = !learnt
    ? session.classes.length < 2 || given === 0
      ? 'Label a few rows of two classes to start'
      : 'Learning starts with labels of two classes'
    : accepted > 0
      ? `${number(accepted + given)} of ${number(pool.rows)} accepted at ${limit} error` +
        (fit?.forecast ? `, about ${number(fit.forecast.labels)} more labels to reach ${number(fit.forecast.rows)}` : '')
      : learnt.smallest_promise !== null && learnt.calibrated
        ? `Nothing can be promised at ${limit} error yet; at ${Math.round(100 * learnt.smallest_promise)}% it could`
        : learnt.calibrated
          ? `${number(given)} labelled; too many hidden labels are guessed wrong to promise anything yet`
          : `${number(given)} labelled; a few more of each class until errors can be promised`;
  const share = (count: number) => `${(100 * count) / Math.max(1, pool.rows)}%`;
  return (
    <div class="progress" data-stale={stale} data-fit={fit?.events ?? 0} data-full={fit?.full ?? false}>
      <div class="track" role="img" aria-label={text}>
        <span class="given" style={{ width: share(given) }} />
        <span class="accepted" style={{ width: share(accepted) }} />
      </div>
      <p>
        <span>{connected ? text : 'The studio does not answer. Every answer that was shown as taken is kept.'}</span>
        <span class="state">
          {fit?.error ? '' : stale ? 'checking…' : learnt?.calibrated ? `${learnt.left_out_right} of ${learnt.left_out} labels guessed right when hidden` : ''}
        </span>
      </p>
      {fit?.error && <p class="warning">{fit.error}</p>}
    </div>
  );
}

/** What can be done with what is selected. */
export function Selection() {
  const { selection, session, view } = use((all) => all);
  if (selection.size === 0 || view === 'queue') return null;
  return (
    <div class="selection" role="toolbar" aria-label="Selection">
      <b>{number(selection.size)} selected</b>
      <div class="chips">
        {session.classes.map((of, place) => (
          <button type="button" key={of.id} style={{ '--class': colour(place) }} onClick={() => void label(targets(), of.id)}>
            <span class="swatch" />
            {of.name}
          </button>
        ))}
        <button type="button" onClick={() => set({ dialog: { kind: 'new' } })}>
          + New class
        </button>
      </div>
      <button type="button" class="quiet" onClick={() => unlabel(targets())}>
        Unlabel
      </button>
      <button type="button" class="quiet" onClick={() => discard(targets())}>
        Discard
      </button>
      <button type="button" class="quiet" aria-label="Select nothing" onClick={() => set({ selection: new Set() })}>
        ✕
      </button>
    </div>
  );
}

/** The latest news, read out as well. */
export function Message() {
  const message = use((all) => all.message);
  const [shown, setShown] = useState(true);
  useEffect(() => {
    setShown(true);
    const timer = setTimeout(() => setShown(false), message?.wrong ? 7000 : 2200);
    return () => clearTimeout(timer);
  }, [message?.at]);
  return (
    <div class="message" role="status" aria-live="polite">
      {message && shown && <p class={message.wrong ? 'wrong' : ''}>{message.text}</p>}
    </div>
  );
}
