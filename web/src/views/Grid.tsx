// All rows as small images by class: select many, label them with one key.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { select } from '../actions';
import { thumbnail } from '../api';
import { UNLABELLED, colour } from '../colours';
import type { State } from '../store';
import { NONE, caption, doubt, now, pictured, placeOfClass, set, shownClass, use } from '../store';
import type { Cell, Layout, Section } from './layout';
import { HEADING, arrange, sections } from './layout';

const BAND = 6;

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Moves the cursor of the grid that is shown; set by it, called by keys. */
export let move: (by: 'left' | 'right' | 'up' | 'down', extend: boolean) => void = () => undefined;
export let selectSection: () => void = () => undefined;

export function Grid() {
  const state = use((all) => all);
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [band, setBand] = useState<Box | null>(null);
  const anchor = useRef<number | null>(null);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const measure = () => {
      setWidth(box.clientWidth - 2 * 16);
      setView({ top: box.scrollTop, height: box.clientHeight });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  const shown = useMemo(
    () => sections(state),
    [state.marks, state.fit, state.session, state.search, state.only, state.view, state.doubtfulFirst],
  );
  const layout = useMemo(() => arrange(shown, width, width < 600 ? 96 : 132), [shown, width]);

  useEffect(() => {
    move = (by, extend) => {
      const { cursor, selection } = now();
      const at = cursor === null ? -1 : layout.order.indexOf(cursor);
      const step = { left: -1, right: 1, up: -layout.columns, down: layout.columns }[by];
      const next = layout.order[at < 0 ? 0 : Math.min(layout.order.length - 1, Math.max(0, at + step))];
      if (next === undefined) return;
      if (extend) {
        anchor.current ??= cursor ?? next;
        set({ cursor: next, selection: new Set(range(layout, anchor.current, next)) });
      } else {
        anchor.current = null;
        set({ cursor: next, selection: selection.size > 1 ? selection : new Set() });
      }
      reveal(layout, next, scroller.current);
    };
    selectSection = () => {
      const { cursor } = now();
      const cell = cursor === null ? undefined : layout.place(cursor);
      const section = cell ? layout.sections[cell.section] : layout.sections[0];
      if (section) select(section.rows);
    };
  }, [layout]);

  const click = (row: number, event: MouseEvent & { pointerType?: string }) => {
    const { selection, cursor } = now();
    if (event.shiftKey && cursor !== null) {
      event.preventDefault();
      anchor.current ??= cursor;
      set({ selection: new Set(range(layout, anchor.current, row)), cursor: row });
      return;
    }
    anchor.current = null;
    if (event.ctrlKey || event.metaKey || event.pointerType === 'touch') {
      const next = new Set(selection);
      if (!next.delete(row)) next.add(row);
      set({ selection: next, cursor: row });
      return;
    }
    const alone = selection.size === 1 && selection.has(row);
    set({ selection: new Set(alone ? [] : [row]), cursor: row });
  };

  const drag = (down: PointerEvent) => {
    const box = scroller.current;
    if (!box || down.button !== 0 || down.pointerType === 'touch') return;
    const inside = (event: PointerEvent) => {
      const frame = box.getBoundingClientRect();
      return [event.clientX - frame.left - 16, event.clientY - frame.top + box.scrollTop] as const;
    };
    const [x, y] = inside(down);
    const kept = down.shiftKey || down.ctrlKey || down.metaKey ? now().selection : new Set<number>();
    let dragged = false;
    const over = (event: PointerEvent) => {
      const [toX, toY] = inside(event);
      if (!dragged && Math.hypot(toX - x, toY - y) < BAND) return;
      dragged = true;
      const area = { left: Math.min(x, toX), right: Math.max(x, toX), top: Math.min(y, toY), bottom: Math.max(y, toY) };
      setBand(area);
      const touched = layout
        .between(area.top - layout.size, area.bottom)
        .filter((cell) => touches(cell, layout.size, area))
        .map((cell) => cell.row);
      set({ selection: new Set([...kept, ...touched]) });
    };
    const up = () => {
      removeEventListener('pointermove', over);
      removeEventListener('pointerup', up);
      setBand(null);
      // The click that follows a drag is not one.
      if (dragged) addEventListener('click', stop, { capture: true, once: true });
      setTimeout(() => removeEventListener('click', stop, { capture: true }), 0);
    };
    addEventListener('pointermove', over);
    addEventListener('pointerup', up);
  };

  const cells = layout.between(view.top - 400, view.top + view.height + 400);
  const first = state.cursor !== null && layout.place(state.cursor) ? state.cursor : layout.order[0];
  return (
    <div
      class="grid"
      ref={scroller}
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      onPointerDown={drag}
    >
      {layout.order.length === 0 && <Empty state={state} />}
      <div class="cells" style={{ height: `${layout.height}px` }}>
        {layout.sections
          .filter((section) => inSight(section, layout, view))
          .map((section) => (
            <Heading key={`s${section.id}`} section={section} state={state} />
          ))}
        {cells.map((cell) => (
          <Tile
            key={cell.row}
            cell={cell}
            size={layout.size}
            state={state}
            reachable={cell.row === first}
            onClick={(event) => click(cell.row, event)}
          />
        ))}
        {band && (
          <div
            class="band"
            style={{
              left: `${band.left}px`,
              top: `${band.top}px`,
              width: `${band.right - band.left}px`,
              height: `${band.bottom - band.top}px`,
            }}
          />
        )}
      </div>
    </div>
  );
}

const stop = (event: Event) => {
  event.stopPropagation();
  event.preventDefault();
};

const touches = (cell: Cell, size: number, area: Box): boolean =>
  cell.left < area.right && cell.left + size > area.left && cell.top < area.bottom && cell.top + size > area.top;

const inSight = (section: Section, layout: Layout, view: { top: number; height: number }): boolean => {
  const rows = Math.ceil(section.rows.length / layout.columns);
  const bottom = section.top + HEADING + rows * (layout.size + 8);
  return bottom > view.top - 400 && section.top < view.top + view.height + 400;
};

function range(layout: Layout, from: number, to: number): number[] {
  const [a, b] = [layout.order.indexOf(from), layout.order.indexOf(to)];
  return a < 0 || b < 0 ? [to] : layout.order.slice(Math.min(a, b), Math.max(a, b) + 1);
}

function reveal(layout: Layout, row: number, box: HTMLDivElement | null): void {
  const cell = layout.place(row);
  if (!cell || !box) return;
  if (cell.top - HEADING < box.scrollTop) box.scrollTop = cell.top - HEADING;
  else if (cell.top + layout.size + 16 > box.scrollTop + box.clientHeight) {
    box.scrollTop = cell.top + layout.size + 16 - box.clientHeight;
  }
  requestAnimationFrame(() => box.querySelector<HTMLElement>(`[data-row="${row}"]`)?.focus({ preventScroll: true }));
}

function Heading({ section, state }: { section: Section; state: State }) {
  const given = section.rows.filter((row) => state.marks[row] !== NONE).length;
  const place = placeOfClass(state, section.id);
  return (
    <div class="heading" style={{ top: `${section.top}px`, height: `${HEADING}px` }}>
      <span class="swatch" style={{ background: place < 0 ? UNLABELLED : colour(place) }} />
      <h2>{section.name}</h2>
      <span class="count">
        {section.rows.length.toLocaleString('en')}
        {given > 0 && section.id >= 0 ? ` · ${given.toLocaleString('en')} by you` : ''}
      </span>
      <button type="button" class="quiet" onClick={() => select(section.rows)}>
        Select all
      </button>
    </div>
  );
}

function Tile(props: {
  cell: Cell;
  size: number;
  state: State;
  reachable: boolean;
  onClick: (event: MouseEvent) => void;
}) {
  const { cell, size, state } = props;
  const { row } = cell;
  const mark = state.marks[row] ?? NONE;
  const shown = shownClass(state, row);
  const place = placeOfClass(state, shown);
  const probability = state.fit?.learnt?.probability[row];
  const why = doubt(state, row);
  const name = state.session.classes[place]?.name;
  const said =
    mark === NONE
      ? name === undefined || probability === undefined
        ? 'not labelled'
        : `probably ${name}, ${probability}%${why && `, ${why}`}`
      : `labelled ${name ?? 'discarded'}`;
  const id = caption(state, row);
  return (
    <button
      type="button"
      class={`tile${mark === NONE ? '' : ' given'}${state.moved.has(row) ? ' moved' : ''}${row === state.cursor ? ' cursor' : ''}`}
      style={{
        left: `${cell.left}px`,
        top: `${cell.top}px`,
        width: `${size}px`,
        height: `${size}px`,
        '--class': place < 0 ? UNLABELLED : colour(place),
      }}
      data-row={row}
      tabIndex={props.reachable ? 0 : -1}
      aria-pressed={state.selection.has(row)}
      aria-label={`${id}, ${said}`}
      title={`${id}\n${said}`}
      onClick={props.onClick}
      onDblClick={() => set({ detail: row, cursor: row })}
    >
      {pictured(state, row) ? (
        <img src={thumbnail(row)} alt="" draggable={false} decoding="async" />
      ) : (
        <span class="words">{id}</span>
      )}
      <span class="foot" aria-hidden="true">
        {mark === NONE ? (
          probability === undefined || name === undefined ? null : (
            <>
              <span class="meter">
                <span style={{ width: `${probability}%` }} />
              </span>
              <span>
                {probability}%{why && ` ${why}`}
              </span>
            </>
          )
        ) : (
          <span class="yours">✓ {name ?? 'discarded'}</span>
        )}
      </span>
    </button>
  );
}

function Empty({ state }: { state: State }) {
  const text =
    state.view === 'unknown'
      ? state.fit?.learnt?.calibrated
        ? 'Every row looks like something you have labelled.'
        : 'Once a few rows of each class are labelled, rows that look like none of them show up here.'
      : 'No row matches.';
  return <p class="empty">{text}</p>;
}
