import { definePointsman } from './pointsman.js';

export default definePointsman(
  'pointsman strict',
  'Each hand-over goes through the server, in the order of requests across all clients.',
  { mode: 'strict' },
);
