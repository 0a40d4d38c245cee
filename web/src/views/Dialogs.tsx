// What needs a name or a choice: a new class, another name, two classes that are one; and the keys.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

import { newClass, targets } from '../actions';
import { now, perform, set, use } from '../store';

function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog
      ref={box}
      aria-labelledby="dialog-title"
      onClose={props.onClose}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <header>
        <h2 id="dialog-title">{props.title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => box.current?.close()}>
          ✕
        </button>
      </header>
      {props.children}
    </dialog>
  );
}

export function Dialogs() {
  const dialog = use((all) => all.dialog);
  const help = use((all) => all.help);
  if (help) return <Help />;
  if (dialog?.kind === 'new') return <Name />;
  if (dialog) return <Change id={dialog.class} key={dialog.class} />;
  return null;
}

const close = () => set({ dialog: null, help: false });

function Name() {
  const [rows] = useState(targets);
  const [name, setName] = useState('');
  const add = async (event: Event) => {
    event.preventDefault();
    if (name.trim() !== '' && (await newClass(name.trim(), rows))) close();
  };
  return (
    <Dialog title={rows.length > 0 ? `New class for ${rows.length} selected` : 'New class'} onClose={close}>
      <form class="line" onSubmit={(event) => void add(event)}>
        <input
          autofocus
          value={name}
          maxLength={100}
          aria-label="Name of the class"
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Add
        </button>
      </form>
    </Dialog>
  );
}

function Change({ id }: { id: number }) {
  const classes = use((all) => all.session.classes);
  const of = classes.find((one) => one.id === id);
  const [name, setName] = useState(of?.name ?? '');
  const others = classes.filter((one) => one.id !== id);
  const [into, setInto] = useState(others[0]?.id);
  if (!of) return null;
  const rename = async (event: Event) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === of.name || (await perform({ rename: { class: id, name: wanted } }, `Renamed to ${wanted}`))) close();
  };
  const merge = async (event: Event) => {
    event.preventDefault();
    const other = others.find((one) => one.id === into);
    if (other && (await perform({ merge: { from: id, into: other.id } }, `${of.name} is now ${other.name}`))) {
      set({ only: now().only === id ? null : now().only });
      close();
    }
  };
  return (
    <Dialog title={of.name} onClose={close}>
      <form class="line" onSubmit={(event) => void rename(event)}>
        <label>
          Name
          <input autofocus value={name} maxLength={100} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary">
          Rename
        </button>
      </form>
      {others.length > 0 && (
        <form class="line" onSubmit={(event) => void merge(event)}>
          <label>
            Merge into
            <select value={into} onChange={(event) => setInto(Number(event.currentTarget.value))}>
              {others.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">Merge</button>
        </form>
      )}
    </Dialog>
  );
}

const KEYS: [string, string][] = [
  ['1 – 9', 'Label the selection, or the row under the cursor'],
  ['N', 'New class, with the selection in it'],
  ['0 or Backspace', 'Remove the label'],
  ['X', 'Discard: belongs to none of the classes'],
  ['Z, Shift Z', 'Undo, redo'],
  ['← ↑ → ↓', 'Move; with Shift select on the way'],
  ['Space', 'Select or deselect'],
  ['A', 'Select all of this class'],
  ['Esc', 'Select nothing, close'],
  ['I or Enter', 'Why this label?'],
  ['G  Q  M  U', 'Grid, queue, map, unknown'],
  ['S', 'Skip in the queue'],
  ['/', 'Search'],
  ['?', 'These keys'],
];

function Help() {
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">Mouse: click, Ctrl-click, Shift-click, drag around rows; double-click for the detail.</p>
    </Dialog>
  );
}
