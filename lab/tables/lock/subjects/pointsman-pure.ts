import { definePointsman } from './pointsman.js';

export default definePointsman(
  'pointsman pure',
  'Without scripts: its transactions are WATCH and MULTI; hands over in the process as the first does.',
  { handler: 'pure' },
);
