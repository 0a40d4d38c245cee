// What the server says and takes.

export interface Pool {
  name: string;
  rows: number;
  ids: string[];
  /** What rows say, where they are texts. */
  texts: string[] | null;
  images: number;
  without_image: number[];
  /** Whether images are files that links can lead to. */
  links: boolean;
  max_error: number;
}

export interface Places {
  version: number;
  finished: boolean;
  x: number[];
  y: number[];
}

export interface SessionClass {
  id: number;
  name: string;
  count: number;
}

export interface SessionState {
  events: number;
  classes: SessionClass[];
  /** Row and class; -1 where the row is discarded. */
  marks: [number, number][];
  missing: number;
  undo: boolean;
  redo: boolean;
}

export interface Learnt {
  class: number[];
  probability: number[];
  flags: number[];
  doubtful: { row: number; class: number; probability: number }[];
  accepted: number;
  smallest_promise: number | null;
  calibrated: boolean;
  left_out: number;
  left_out_right: number;
}

export interface Fit {
  number: number;
  events: number;
  full: boolean;
  error: string | null;
  queue: number[];
  forecast: { labels: number; rows: number } | null;
  learnt: Learnt | null;
}

export interface RowDetail {
  row: number;
  id: string;
  near: { row: number; similarity: number }[];
  likely: { class: number; probability: number }[];
  label: {
    class: number;
    given: boolean;
    probability: number;
    margin: number;
    credibility: number;
    agreement: number;
  } | null;
  history: { at: number; mark: string | false | null }[];
}

export type Act =
  | { 'new-class': { name: string; rows: number[] } }
  | { rename: { class: number; name: string } }
  | { merge: { from: number; into: number } }
  | { label: { rows: number[]; class: number } }
  | { unlabel: { rows: number[] } }
  | { discard: { rows: number[] } }
  | 'undo'
  | 'redo';

const token = new URLSearchParams(location.search).get('token') ?? '';

export const address = (path: string): string => `${path}?token=${encodeURIComponent(token)}`;
export const thumbnail = (row: number): string => address(`/api/thumbnail/${row}`);
export const picture = (row: number): string => address(`/api/image/${row}`);

async function answered<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const text = await response.text();
  let reason = text;
  try {
    reason = (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    // Plain text is the reason itself.
  }
  throw new Error(reason || `the studio answered ${response.status}`);
}

export async function get<T>(path: string): Promise<T> {
  return answered<T>(await fetch(address(path)));
}

export async function act(what: Act): Promise<SessionState> {
  const response = await fetch(address('/api/act'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(what),
  });
  return answered<SessionState>(response);
}

/** Sorts the images into folders of links and says where. */
export async function makeLinks(): Promise<{ folder: string }> {
  return answered(await fetch(address('/api/links'), { method: 'POST' }));
}

export interface Notice {
  events: number;
  fit: number;
  map: number;
}

/** Calls back whenever session or fit have changed, and when the connection comes or goes. */
export function listen(
  changed: (notice: Notice) => void,
  connected: (is: boolean) => void,
): void {
  const source = new EventSource(address('/api/events'));
  source.onopen = () => connected(true);
  source.onerror = () => connected(false);
  source.onmessage = (message) => changed(JSON.parse(message.data as string) as Notice);
}
