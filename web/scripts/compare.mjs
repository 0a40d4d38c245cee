// The files that the program embeds must be those that the sources build to.
import { readFileSync, readdirSync } from 'node:fs';

const built = '.built';
const embedded = '../crates/handful-studio/page';
const names = readdirSync(built).sort();
const same =
  names.join() === readdirSync(embedded).sort().join() &&
  names.every((name) => readFileSync(`${built}/${name}`).equals(readFileSync(`${embedded}/${name}`)));
if (!same) {
  console.error(`${embedded} is not what web/ builds: run npm run build there and commit the result`);
  process.exit(1);
}
