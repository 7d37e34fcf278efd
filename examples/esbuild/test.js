import { tryPages } from '../page.js';

await tryPages([
  { folder: 'public', isolated: true, shows: 'outrageous is widest, by calls that block' },
  { folder: 'public', shows: 'outrageous is widest, by promises' },
]);
