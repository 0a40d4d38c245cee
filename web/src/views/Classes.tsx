// The classes: counts, colours, keys; new, renamed, merged.

import { useRef, useState } from 'preact/hooks';

import { label, newClass, targets } from '../actions';
import { colour } from '../colours';
import { NONE, now, set, use } from '../store';

export function Classes() {
  const { session, fit, marks, selection, only } = use((all) => all);
  const predicted = new Map<number, number>();
  fit?.learnt?.class.forEach((of, row) => {
    if (marks[row] === NONE) predicted.set(of, (predicted.get(of) ?? 0) + 1);
  });
  const press = (id: number) => {
    if (now().selection.size > 0) void label(targets(), id);
    else set({ only: only === id ? null : id, view: now().view === 'grid' ? 'grid' : now().view });
  };
  return (
    <nav class="classes" aria-label="Classes">
      <ul>
        {session.classes.map((of, place) => (
          <li key={of.id} style={{ '--class': colour(place) }} class={only === of.id ? 'only' : ''}>
            <button
              type="button"
              class="class"
              aria-pressed={only === of.id}
              title={selection.size > 0 ? `Label ${selection.size} selected` : 'Show only this class'}
              onClick={() => press(of.id)}
            >
              {place < 9 ? <kbd>{place + 1}</kbd> : <span class="swatch" />}
              <span class="name">{of.name}</span>
              <span class="count">
                <b title="labelled by you">{of.count.toLocaleString('en')}</b>
                <span title="predicted">
                  {predicted.has(of.id) ? ` +${(predicted.get(of.id) ?? 0).toLocaleString('en')}` : ''}
                </span>
              </span>
            </button>
            <button
              type="button"
              class="more"
              aria-label={`Change ${of.name}`}
              onClick={() => set({ dialog: { kind: 'rename', class: of.id } })}
            >
              ⋯
            </button>
          </li>
        ))}
      </ul>
      <NewClass />
      {session.classes.length === 0 && (
        <p class="hint">
          Name two classes, select a few rows of each and press their key. Everything else is labelled for you.
        </p>
      )}
    </nav>
  );
}

function NewClass() {
  const [name, setName] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    if (name.trim() === '') return;
    if (await newClass(name.trim(), [...now().selection])) setName('');
    input.current?.focus();
  };
  return (
    <form class="new-class" onSubmit={(event) => void add(event)}>
      <input
        ref={input}
        value={name}
        maxLength={100}
        placeholder="New class"
        aria-label="Name of a new class"
        autocomplete="off"
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <button type="submit" disabled={name.trim() === ''} aria-label="Add class">
        +
      </button>
    </form>
  );
}
