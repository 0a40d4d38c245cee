// Draws what five-minutes.mjs prints: `node scripts/plot.mjs < minutes.csv > ../docs/src/pictures/studio-five-minutes.svg`.
import { readFileSync } from 'node:fs';

const [, ...lines] = readFileSync(0, 'utf8').trim().split('\n');
const rows = lines.map((line) => line.split(',').map(Number));
const [width, height, left, right, top, bottom] = [720, 400, 56, 210, 24, 46];
const last = rows.at(-1)[0];
const x = (seconds) => left + ((width - left - right) * seconds) / last;
const y = (share) => height - bottom - (height - top - bottom) * share;
const CURVES = [
  [1, 'the queue asks', '#3b6fd4'],
  [2, 'rows by chance', '#e0822f'],
  [3, 'one by one, nothing learns', '#8d95a3'],
];
const curve = ([column, name, colour]) => {
  const points = rows.map((row) => `${x(row[0]).toFixed(1)},${y(row[column]).toFixed(1)}`).join(' ');
  const end = y(rows.at(-1)[column]) + 4;
  const share = `${Math.round(100 * rows.at(-1)[column])}%`;
  return `<polyline fill="none" stroke="${colour}" stroke-width="2.5" points="${points}"/>
<text x="${x(last) + 8}" y="${end.toFixed(1)}" fill="${colour}">${share} ${name}</text>`;
};
const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
  .map((share) => `<line x1="${left}" x2="${x(last)}" y1="${y(share)}" y2="${y(share)}" stroke="#dfe3ea"/>
<text x="${left - 8}" y="${y(share) + 4}" text-anchor="end" fill="#59627a">${100 * share}%</text>`)
  .join('\n');
const minutes = Array.from({ length: last / 60 + 1 }, (_, minute) => `<text x="${x(60 * minute)}" y="${height - bottom + 20}" text-anchor="middle" fill="#59627a">${minute} min</text>`).join('\n');
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
${ticks}
${minutes}
${CURVES.map(curve).join('\n')}
<text x="${left}" y="${height - 6}" fill="#1c2230">share of all rows with the right label, one answer a second</text>
</svg>`);
