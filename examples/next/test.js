import { tryPages } from '../page.js';

await tryPages([
  { command: 'npx next start --port 0', shows: 'outrageous is widest, by calls that block' },
]);
