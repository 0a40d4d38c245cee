// Somebody's five minutes: a simulated annotator who answers once a second, what the queue asks or rows by chance.
// `node scripts/five-minutes.mjs TABLE [ROWS]` prints a CSV of seconds and accuracies; TABLE has the true labels.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { handful, startStudio } from '../tests/studio.mjs';

const [table, rows = '1000'] = process.argv.slice(2);
const SECONDS = 300;
const folder = mkdtempSync(join(tmpdir(), 'handful-minutes-'));
handful('data', 'convert', table, join(folder, 'all.csv'));
const [header, ...all] = readFileSync(join(folder, 'all.csv'), 'utf8').trim().split('\n');

let seed = 1;
const chance = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const shuffled = (list) => {
  const out = [...list];
  for (let at = out.length - 1; at > 0; at -= 1) {
    const other = Math.floor(chance() * (at + 1));
    [out[at], out[other]] = [out[other], out[at]];
  }
  return out;
};
const lines = shuffled(all).slice(0, Number(rows));
const at = header.split(',').indexOf('label');
const truth = lines.map((line) => line.split(',')[at]);
writeFileSync(join(folder, 'pool.csv'), [header, ...lines].join('\n') + '\n');

async function curve(name) {
  const studio = await startStudio(join(folder, 'pool.csv'), ['--session', join(folder, `${name}.jsonl`)]);
  const url = new URL(studio.address);
  const get = async (path) => (await fetch(`${url.origin}${path}${url.search}`)).json();
  const act = async (what) => {
    const response = await fetch(`${url.origin}/api/act${url.search}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(what) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  const order = shuffled(truth.map((_, row) => row));
  const classes = new Map();
  const marked = new Set();
  const accuracy = [0];
  let events = 0;
  try {
    for (let second = 1; second <= SECONDS; second += 1) {
      let fit;
      // A second is longer than a fit and its queue take.
      do fit = await get('/api/fit');
      while (fit.events !== events || !fit.queue.some((row) => !marked.has(row)) || fit.queue.some((row) => marked.has(row)));
      const row = name === 'queue' ? fit.queue[0] : order[second - 1];
      marked.add(row);
      const label = truth[row];
      const what = classes.has(label) ? { label: { rows: [row], class: classes.get(label) } } : { 'new-class': { name: `class ${label}`, rows: [row] } };
      if (!classes.has(label)) classes.set(label, classes.size);
      ({ events } = await act(what));
      do fit = await get('/api/fit');
      while (fit.events !== events);
      const names = [...classes.keys()];
      const right = fit.learnt ? truth.filter((label, row) => names[fit.learnt.class[row]] === label).length : 0;
      accuracy.push(right / truth.length);
    }
  } finally {
    studio.child.kill('SIGKILL');
  }
  return accuracy;
}

const queue = await curve('queue');
const random = await curve('random');
console.log('seconds,queue,random,by_hand');
queue.forEach((value, second) => console.log(`${second},${value.toFixed(4)},${random[second].toFixed(4)},${(second / truth.length).toFixed(4)}`));
rmSync(folder, { recursive: true, force: true });
