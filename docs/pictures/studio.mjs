// Screenshots of the studio: `node docs/pictures/studio.mjs PHOTOS`, after `npm ci` in web/.
// PHOTOS is a folder of class folders; 36 labels come from the names of those.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { fitted, handful, openBrowser, openPage, startStudio } from '../../web/tests/studio.mjs';

const source = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'handful-pictures-'));
const photos = join(folder, 'photos');
const pictures = new URL('../src/pictures/', import.meta.url).pathname;
mkdirSync(photos);
const kinds = {};
for (const kind of readdirSync(source)) {
  readdirSync(join(source, kind)).forEach((file, at) => {
    const name = `${kind}-${String(at).padStart(2, '0')}.jpg`;
    copyFileSync(join(source, kind, file), join(photos, name));
    kinds[name] = kind;
  });
}
const asked = join(folder, 'choose.csv');
handful('choose', photos, '-n', '36', '-o', asked);
const rows = readFileSync(asked, 'utf8').trim().split('\n').slice(1);
writeFileSync(asked, ['id,label', ...rows.map((row) => `${row.split(',')[0]},${kinds[row.split(',')[0]]}`)].join('\n'));

const studio = await startStudio(photos, ['--labels', asked]);
const browser = await openBrowser();
try {
  const { page, errors } = await openPage(browser, studio.address, { viewport: { width: 1280, height: 800 } });
  await fitted(page, true);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(pictures, 'studio.jpg'), type: 'jpeg', quality: 80 });
  await page.getByRole('tab', { name: 'Map' }).or(page.getByRole('button', { name: 'Map' })).first().click();
  await page.mouse.move(900, 700);
  await page.waitForTimeout(4000);
  await page.screenshot({ path: join(pictures, 'studio-map.png') });
  if (errors.length > 0) throw new Error(errors.join('\n'));
} finally {
  await browser.close();
  studio.child.kill();
  await studio.ended;
  rmSync(folder, { recursive: true });
}
