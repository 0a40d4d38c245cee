// Made-up photos: three kinds of pictures that any network tells apart, as PNG.
import { mkdirSync, writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

const SIDE = 64;

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

function png(pixel) {
  const raw = Buffer.alloc(SIDE * (1 + 3 * SIDE));
  for (let y = 0; y < SIDE; y += 1) {
    for (let x = 0; x < SIDE; x += 1) {
      pixel(x, y).forEach((value, at) => (raw[y * (1 + 3 * SIDE) + 1 + 3 * x + at] = Math.max(0, Math.min(255, value))));
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(SIDE, 0);
  head.writeUInt32BE(SIDE, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([magic, chunk('IHDR', head), chunk('IDAT', deflateSync(raw)), chunk('IEND', Buffer.alloc(0))]);
}

export const KINDS = ['circle', 'stripes', 'check'];
/** The kind of a photo by its file name: what somebody would see. */
export const kindOf = (id) => KINDS[Number(id.match(/photo (\d+)/)[1]) % 3];

export function makePhotos(folder, count) {
  mkdirSync(folder, { recursive: true });
  let seed = 7;
  const chance = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let at = 0; at < count; at += 1) {
    const [x0, y0, size, noise] = [24 + 16 * chance(), 24 + 16 * chance(), 12 + 10 * chance(), 20 + 30 * chance()];
    const tint = [chance(), chance(), chance()].map((value) => 60 + 150 * value);
    const dark = [0, 1, 2].map(() => 15 + 40 * chance());
    const inside = [
      (x, y) => Math.hypot(x - x0, y - y0) < size,
      (x, y) => Math.floor((x + y) / (3 + size / 6)) % 2 === 0,
      (x, y) => (Math.floor(x / (size / 2)) + Math.floor(y / (size / 2))) % 2 === 0,
    ][at % 3];
    const image = png((x, y) => (inside(x, y) ? tint : dark).map((value) => value + noise * (chance() - 0.5)));
    writeFileSync(`${folder}/photo ${String(at).padStart(3, '0')}.png`, image);
  }
}
