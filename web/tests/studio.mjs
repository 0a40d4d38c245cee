// A studio and a browser to meet it with.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const HANDFUL = process.env.HANDFUL_BINARY ?? new URL('../../target/debug/handful', import.meta.url).pathname;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Starts the studio and waits for its address. */
export function startStudio(pool, options = []) {
  if (!existsSync(HANDFUL)) throw new Error(`${HANDFUL} is not there: run cargo build -p handful-cli first`);
  const child = spawn(HANDFUL, ['studio', pool, '--no-open', ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', (text) => {
      out += text;
      if (out.includes('\n')) resolve({ child, address: out.trim(), ended: new Promise((end) => child.on('exit', end)) });
    });
    child.on('exit', (code) => reject(new Error(`the studio ended with ${code}: ${said}`)));
  });
}

export function handful(...args) {
  const run = spawnSync(HANDFUL, args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`handful ${args.join(' ')}: ${run.stderr}`);
  return run;
}

export const openBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/** A page that remembers what went wrong on it. */
export async function openPage(browser, address, settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...settings });
  const page = await context.newPage();
  const errors = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(address);
  await page.waitForSelector('.progress');
  return { page, errors, context };
}

/** Serious accessibility violations, in words. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations),
  );
  return found
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
}

/** Waits until the fit has seen every event of the session; `full` also for the calibrated one. */
export async function fitted(page, full = false) {
  await page.waitForFunction(
    async (full) => {
      const query = location.search;
      const state = await (await fetch(`/api/state${query}`)).json();
      const shown = document.querySelector('.progress');
      return Number(shown.dataset.fit) === state.events && (!full || shown.dataset.full === 'true');
    },
    full,
    { timeout: 60_000, polling: 50 },
  );
}

export async function download(page, name) {
  await page.click('.export summary');
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(`.export a[download="${name}"]`)]);
  return readFileSync(await file.path());
}
