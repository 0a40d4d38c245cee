// Opens a task in Label Studio and waits for its image: `node scripts/label-studio.mjs TASK_URL USER PASSWORD SCREENSHOT`.
import { openBrowser } from '../tests/studio.mjs';

const [task, user, password, screenshot] = process.argv.slice(2);
const browser = await openBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(new URL('/user/login/', task).href);
  await page.fill('input[name=email]', user);
  await page.fill('input[name=password]', password);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => !url.pathname.startsWith('/user/login'));
  await page.goto(task);
  const shown = () =>
    [...document.querySelectorAll('img')].some(
      (image) => /^(data:image|blob:)|local-files/.test(image.src) && image.complete && image.naturalWidth > 100,
    );
  await page.waitForFunction(shown, undefined, { timeout: 60_000 });
  await page.screenshot({ path: screenshot });
} finally {
  await browser.close();
}
