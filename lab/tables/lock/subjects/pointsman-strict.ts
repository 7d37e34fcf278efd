import { definePointsman } from './pointsman.js';

export default definePointsman(
  'pointsman strict',
  'Each hand-over goes through the server, in the order of asking across all clients.',
  { mode: 'strict' },
);
