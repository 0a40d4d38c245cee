// How fast the studio is with 10,000 photos of 512 columns: `node scripts/speed.mjs [ROWS]`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { KINDS, makePhotos } from '../tests/photos.mjs';
import { fitted, openBrowser, openPage, startStudio } from '../tests/studio.mjs';

const rows = Number(process.argv[2] ?? 10_000);
const columns = 512;
const folder = mkdtempSync(join(tmpdir(), 'handful-speed-'));

function npy(path, kind, shape, bytes) {
  let header = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  header = `${header.padEnd(Math.ceil((11 + header.length) / 64) * 64 - 11)}\n`;
  const head = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  writeFileSync(path, Buffer.concat([head, Buffer.from(header), bytes]));
}

function makeFeatures(path) {
  let seed = 12_345;
  const chance = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const normal = () => 1.7 * (chance() + chance() + chance() + chance() - 2);
  const centres = KINDS.map(() => Array.from({ length: columns }, normal));
  const values = new Float32Array(rows * columns);
  const ids = Buffer.alloc(rows * 16 * 4);
  for (let row = 0; row < rows; row += 1) {
    const centre = centres[row % KINDS.length];
    for (let column = 0; column < columns; column += 1) values[row * columns + column] = 0.15 * centre[column] + normal();
    [...`photo ${String(row).padStart(3, '0')}.png`].forEach((letter, at) => ids.writeUInt32LE(letter.codePointAt(0), 4 * (16 * row + at)));
  }
  npy(path, '<f4', [rows, columns], Buffer.from(values.buffer));
  npy(path.replace('.npy', '.ids.npy'), '<U16', [rows], ids);
}

const pictures = join(folder, 'photos');
const features = join(folder, 'pool.npy');
makePhotos(pictures, rows);
makeFeatures(features);
const began = performance.now();
const studio = await startStudio(features, ['--images', pictures]);
console.log(`prepared: ${((performance.now() - began) / 1000).toFixed(2)} s`);
const browser = await openBrowser();
try {
  const opened = performance.now();
  const { page, errors } = await openPage(browser, studio.address);
  await page.waitForFunction(() => {
    const images = [...document.querySelectorAll('.tile img')];
    return images.length > 20 && images.every((image) => image.complete && image.naturalWidth > 0);
  });
  console.log(`first screen: ${((performance.now() - opened) / 1000).toFixed(2)} s`);
  for (const [at, name] of KINDS.entries()) {
    await page.fill('.new-class input', name);
    await page.press('.new-class input', 'Enter');
    await page.waitForSelector(`.classes .name:text-is("${name}")`);
    await page.evaluate((at) => fetch(`/api/act${location.search}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ label: { rows: [at, at + 3], class: at } }) }), at);
  }
  await page.locator('.new-class input').blur();
  await fitted(page, true);
  await page.evaluate(() => {
    globalThis.times = [];
    addEventListener('keydown', () => (globalThis.pressed = performance.now()), { capture: true });
    const seen = () => requestAnimationFrame(() => globalThis.pressed && (globalThis.times.push(performance.now() - globalThis.pressed), (globalThis.pressed = 0)));
    new MutationObserver(seen).observe(document.querySelector('.progress'), { attributeFilter: ['data-fit'] });
  });
  await page.keyboard.press('q');
  for (let answer = 0; answer < 50; answer += 1) {
    await page.waitForSelector('.queue .id');
    const id = await page.locator('.queue .id').textContent();
    const count = await page.evaluate(() => ((globalThis.pressed = 0), globalThis.times.length));
    await page.keyboard.press(String((Number(id.match(/(\d+)/)[1]) % 3) + 1));
    await page.waitForFunction((count) => globalThis.times.length > count, count);
    await page.waitForTimeout(250);
  }
  const times = (await page.evaluate(() => globalThis.times)).slice(-50).sort((a, b) => a - b);
  console.log(`keypress to new predictions: median ${times[25].toFixed(0)} ms, 90% within ${times[45].toFixed(0)} ms`);
  await page.keyboard.press('g');
  await page.waitForSelector('.tile');
  await page.waitForTimeout(1000);
  let blank = 0;
  let shown = 0;
  for (let step = 0; step < 60; step += 1) {
    await page.evaluate(() => document.querySelector('.grid').scrollBy(0, 300));
    await page.waitForTimeout(50);
    const [empty, all] = await page.evaluate(() => {
      const frame = document.querySelector('.grid').getBoundingClientRect();
      const images = [...document.querySelectorAll('.tile img')].filter((image) => {
        const box = image.getBoundingClientRect();
        return box.bottom > frame.top && box.top < frame.bottom;
      });
      return [images.filter((image) => !image.complete || image.naturalWidth === 0).length, images.length];
    });
    blank += empty;
    shown += all;
  }
  console.log(`scrolling 300 px every 50 ms: ${blank} of ${shown} thumbnails blank`);
  const memory = readFileSync(`/proc/${studio.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/);
  console.log(`resident: ${(Number(memory[1]) / 1024).toFixed(0)} MB; console errors: ${errors.length}`);
} finally {
  await browser.close();
  studio.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
