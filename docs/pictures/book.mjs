// Looks at every page of the built book on desktop and phone, in light and dark, and fails on an error in the console, a request to
// a network, or a page that is wider than the screen: `node docs/pictures/book.mjs [FOLDER FOR SCREENSHOTS]`.
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

import { openBrowser } from '../../web/tests/studio.mjs';

const book = new URL('../book/', import.meta.url).pathname;
const screenshots = process.argv[2];
const SHOWN = ['index.html', 'tours/practitioner.html', 'guides/photos.html', 'how-it-works.html', 'methods/dm-ida.html', 'results/comparison.html', 'reference/commands.html', 'honesty.html'];

const pages = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return pages(path);
    return name.endsWith('.html') && !['print.html', 'toc.html', '404.html'].includes(name) ? [relative(book, path)] : [];
  });

const browser = await openBrowser();
const wrong = [];
if (screenshots) mkdirSync(screenshots, { recursive: true });
for (const [size, width] of [['desktop', 1400], ['phone', 390]]) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    let where = '';
    page.on('console', (message) => message.type() === 'error' && wrong.push(`${where}: ${message.text()}`));
    page.on('pageerror', (error) => wrong.push(`${where}: ${error}`));
    page.on('request', (request) => !/^(file|data):/.test(request.url()) && wrong.push(`${where} asks for ${request.url()}`));
    for (const name of pages(book)) {
      where = `${name}, ${size}, ${colorScheme}`;
      await page.goto(`file://${book}${name}`);
      const [wide, missing] = await page.evaluate(() => [
        document.documentElement.scrollWidth - window.innerWidth,
        [...document.images].filter((image) => image.complete && image.naturalWidth === 0).map((image) => image.src),
      ]);
      if (wide > 0) wrong.push(`${where}: ${wide} px wider than the screen`);
      if (missing.length > 0) wrong.push(`${where}: no picture ${missing}`);
      if (screenshots && SHOWN.includes(name)) {
        await page.screenshot({ path: join(screenshots, `${name.replace('/', '-').replace('.html', '')}-${size}-${colorScheme}.png`) });
      }
    }
    await context.close();
  }
}
await browser.close();
if (wrong.length > 0) {
  console.error([...new Set(wrong)].join('\n'));
  process.exit(1);
}
