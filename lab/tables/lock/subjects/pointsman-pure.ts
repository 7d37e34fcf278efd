import { definePointsman } from './pointsman.js';

export default definePointsman(
  'pointsman pure',
  'Without scripts: transactions use WATCH and MULTI. Tasks of one process hand the lock over as in the first.',
  { handler: 'pure' },
);
