// All rows as points: what lies together looks alike. Draw around points to select them.

import { useEffect, useRef, useState } from 'preact/hooks';

import { select } from '../actions';
import type { Places } from '../api';
import { thumbnail } from '../api';
import { UNLABELLED, colour } from '../colours';
import { NONE, lookAtMap, now, pictured, set, shownClass, use } from '../store';

type Point = readonly [number, number];

const MARGIN = 24;
/** Room for the buttons above the points. */
const HEAD = 40;
const NEAR = 10;
/** How long points take to their new places. */
const GLIDE = 350;
const NOWHERE: Places = { version: -1, finished: false, x: [], y: [] };

interface Camera {
  zoom: number;
  x: number;
  y: number;
}

function project(places: Places, camera: Camera, width: number, height: number, row: number): Point {
  const side = (value: number, length: number) => MARGIN + (value / 10_000) * (length - 2 * MARGIN);
  return [
    (side(places.x[row] ?? 0, width) - width / 2) * camera.zoom + width / 2 + camera.x,
    (HEAD + side(places.y[row] ?? 0, height - HEAD) - height / 2) * camera.zoom + height / 2 + camera.y,
  ];
}

function inside(point: Point, path: Point[]): boolean {
  let is = false;
  for (let at = 0, before = path.length - 1; at < path.length; before = at, at += 1) {
    const [ax, ay] = path[at] ?? [0, 0];
    const [bx, by] = path[before] ?? [0, 0];
    if (ay > point[1] !== by > point[1] && point[0] < ((bx - ax) * (point[1] - ay)) / (by - ay) + ax) is = !is;
  }
  return is;
}

export function MapView() {
  const state = use((all) => all);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [camera, setCamera] = useState<Camera>({ zoom: 1, x: 0, y: 0 });
  const [lasso, setLasso] = useState<Point[]>([]);
  const [hand, setHand] = useState(false);
  const [byCertainty, setByCertainty] = useState(false);
  const [near, setNear] = useState<{ row: number; at: Point } | null>(null);
  const [size, setSize] = useState<Point>([0, 0]);

  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return undefined;
    const observer = new ResizeObserver(() => setSize([box.clientWidth, box.clientHeight]));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  const places = useGlide(state.places ?? NOWHERE);
  useEffect(() => void lookAtMap(), []);

  const at = (row: number) => project(places, camera, size[0], size[1], row);

  useEffect(() => {
    const area = canvas.current;
    const pen = area?.getContext('2d');
    if (!area || !pen || places.version < 0) return;
    const scale = devicePixelRatio || 1;
    area.width = size[0] * scale;
    area.height = size[1] * scale;
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const [ink, ground] = [style.getPropertyValue('--ink'), style.getPropertyValue('--ground')];
    const placeOf = new Map(state.session.classes.map((of, place) => [of.id, place]));
    const radius = Math.min(6, (state.pool.rows > 5000 ? 2 : 3.5) * Math.sqrt(camera.zoom));
    const draw = (row: number, given: boolean) => {
      const [x, y] = at(row);
      if (x < -9 || y < -9 || x > size[0] + 9 || y > size[1] + 9) return;
      const place = placeOf.get(shownClass(state, row));
      const probability = state.fit?.learnt?.probability[row] ?? 0;
      pen.globalAlpha = given ? 1 : byCertainty ? 1 : 0.35 + (0.6 * probability) / 100;
      pen.fillStyle = byCertainty
        ? `hsl(${given ? 140 : 1.4 * probability} 65% 48%)`
        : place === undefined
          ? UNLABELLED
          : colour(place);
      pen.beginPath();
      pen.arc(x, y, given ? radius + 2 : radius, 0, 7);
      pen.fill();
      if (given || state.selection.has(row)) {
        pen.globalAlpha = 1;
        pen.lineWidth = state.selection.has(row) ? 2.5 : 1.5;
        pen.strokeStyle = state.selection.has(row) ? ink : ground;
        pen.stroke();
      }
    };
    for (let row = 0; row < state.pool.rows; row += 1) if (state.marks[row] === NONE) draw(row, false);
    for (let row = 0; row < state.pool.rows; row += 1) if (state.marks[row] !== NONE) draw(row, true);
    if (lasso.length > 1) {
      pen.globalAlpha = 1;
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      lasso.forEach(([x, y], index) => (index === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
      pen.closePath();
      pen.stroke();
    }
  }, [state.fit, state.marks, state.selection, state.session, places, camera, size, lasso, byCertainty]);

  const point = (event: MouseEvent): Point => {
    const frame = canvas.current?.getBoundingClientRect();
    return [event.clientX - (frame?.left ?? 0), event.clientY - (frame?.top ?? 0)];
  };
  const nearest = (to: Point): number | null => {
    let best: number | null = null;
    let least = NEAR;
    for (let row = 0; row < state.pool.rows; row += 1) {
      const [x, y] = at(row);
      const distance = Math.hypot(x - to[0], y - to[1]);
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  };
  const press = (down: PointerEvent) => {
    const from = point(down);
    const pans = hand || down.button === 1;
    const path: Point[] = [from];
    setNear(null);
    const over = (event: PointerEvent) => {
      const to = point(event);
      if (pans) setCamera({ ...camera, x: camera.x + to[0] - from[0], y: camera.y + to[1] - from[1] });
      else {
        path.push(to);
        setLasso([...path]);
      }
    };
    const up = (event: PointerEvent) => {
      removeEventListener('pointermove', over);
      removeEventListener('pointerup', up);
      setLasso([]);
      if (pans) return;
      if (path.length < 4) {
        const row = nearest(from);
        set({ selection: new Set(row === null ? [] : [row]), cursor: row, detail: row });
        return;
      }
      const rows = Array.from({ length: state.pool.rows }, (_, row) => row).filter((row) => inside(at(row), path));
      select(rows, event.shiftKey);
    };
    addEventListener('pointermove', over);
    addEventListener('pointerup', up);
  };
  const zoom = (by: number, about: Point = [size[0] / 2, size[1] / 2]) => {
    const next = Math.min(60, Math.max(1, camera.zoom * by));
    const ratio = next / camera.zoom;
    const shift = (value: number, of: number, length: number) => (of - length / 2) * (1 - ratio) + value * ratio;
    setCamera(
      next === 1
        ? { zoom: 1, x: 0, y: 0 }
        : { zoom: next, x: shift(camera.x, about[0], size[0]), y: shift(camera.y, about[1], size[1]) },
    );
  };
  const hover = (event: PointerEvent) => {
    if (event.buttons !== 0) return;
    const to = point(event);
    const row = nearest(to);
    setNear(row === null ? null : { row, at: to });
  };
  return (
    <div class="map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Map of ${now().pool.rows} rows; rows that look alike lie together. The grid shows the same rows as a list.`}
        class={hand ? 'hand' : ''}
        onPointerDown={press}
        onPointerMove={hover}
        onPointerLeave={() => setNear(null)}
        onWheel={(event) => {
          event.preventDefault();
          zoom(Math.exp(-event.deltaY / 400), point(event));
        }}
      />
      <div class="tools" role="group" aria-label="Map">
        <button type="button" aria-pressed={!hand} onClick={() => setHand(false)}>
          Lasso
        </button>
        <button type="button" aria-pressed={hand} onClick={() => setHand(true)}>
          Move
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.6)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.6)}>
          −
        </button>
        <button type="button" aria-pressed={byCertainty} onClick={() => setByCertainty(!byCertainty)}>
          Certainty
        </button>
        <span class="stage" role="status">
          {state.places?.finished ? '' : 'arranging…'}
        </span>
      </div>
      {near && pictured(state, near.row) && (
        <img
          class="peek"
          src={thumbnail(near.row)}
          alt=""
          style={{ left: `${Math.min(near.at[0] + 14, size[0] - 150)}px`, top: `${Math.min(near.at[1] + 14, size[1] - 150)}px` }}
        />
      )}
    </div>
  );
}

/** Points on their way to where they are now; at once for those who want no motion. */
function useGlide(to: Places): Places {
  const [shown, setShown] = useState(to);
  const latest = useRef(to);
  useEffect(() => {
    const from = latest.current;
    if (from.version < 0 || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      latest.current = to;
      setShown(to);
      return undefined;
    }
    const began = performance.now();
    let frame = 0;
    const step = () => {
      const share = Math.min(1, (performance.now() - began) / GLIDE);
      const between = (a: number[], b: number[]) => b.map((value, row) => (a[row] ?? value) + share * (value - (a[row] ?? value)));
      latest.current = share === 1 ? to : { ...to, x: between(from.x, to.x), y: between(from.y, to.y) };
      setShown(latest.current);
      if (share < 1) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [to]);
  return shown;
}
