// One key for everything; nothing while somebody types.

import { discard, label, redo, select, targets, undo, unlabel } from './actions';
import { now, set } from './store';
import { show } from './views/Bars';
import { move, selectSection } from './views/Grid';
import { answer, skip } from './views/Queue';

const ARROWS = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' } as const;

function press(event: KeyboardEvent): boolean {
  const { view, session, cursor, selection } = now();
  const { key } = event;
  if ((event.ctrlKey || event.metaKey) && ['z', 'y', 'Z'].includes(key)) {
    if (key === 'y' || event.shiftKey) redo();
    else undo();
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const listed = view === 'grid' || view === 'unknown';
  if (key in ARROWS && listed) {
    move(ARROWS[key as keyof typeof ARROWS], event.shiftKey);
    return true;
  }
  if (/^[1-9]$/.test(key)) {
    const id = session.classes[Number(key) - 1]?.id;
    if (id === undefined) return false;
    if (view === 'queue') answer(id);
    else void label(targets(), id);
    return true;
  }
  switch (key) {
    case '0':
    case 'Backspace':
    case 'Delete':
      unlabel(targets());
      return true;
    case ' ':
      if (cursor === null || !listed) return false;
      select(selection.has(cursor) ? [...selection].filter((row) => row !== cursor) : [...selection, cursor]);
      return true;
    case 'Enter':
    case 'i':
      // Enter on a button other than a row is that button's.
      if (key === 'Enter' && !(document.activeElement instanceof HTMLElement && document.activeElement.dataset['row'])) return false;
      set({ detail: cursor });
      return true;
    case 'Escape':
      if (now().detail !== null) set({ detail: null });
      else set({ selection: new Set(), only: null });
      return true;
    case 'a':
      if (listed) selectSection();
      return listed;
    case 'x':
      discard(targets());
      return true;
    case 's':
      if (view === 'queue') skip();
      return view === 'queue';
    case 'n':
      set({ dialog: { kind: 'new' } });
      return true;
    case 'z':
      undo();
      return true;
    case 'Z':
      redo();
      return true;
    case 'g':
      show('grid');
      return true;
    case 'q':
      show('queue');
      return true;
    case 'm':
      show('map');
      return true;
    case 'u':
      show('unknown');
      return true;
    case '/':
      document.getElementById('search')?.focus();
      return true;
    case '?':
      set({ help: true });
      return true;
    default:
      return false;
  }
}

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    const at = event.target;
    const types = at instanceof HTMLElement && (at.matches('input, select, textarea') || at.closest('dialog') !== null);
    if (!types && press(event)) event.preventDefault();
  });
}
