import { tryPages } from '../page.js';

await tryPages([
  { command: 'npx vite --force --port 0', shows: 'outrageous is widest, by calls that block' },
  { command: 'npx vite preview --port 0', shows: 'outrageous is widest, by calls that block' },
  { folder: 'dist', shows: 'outrageous is widest, by promises' },
]);
