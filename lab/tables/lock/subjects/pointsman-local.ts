import { definePointsman } from './pointsman.js';

export default definePointsman(
  'pointsman local',
  'Its defaults: while no other process waits, the tasks of one process hand the lock to each other.',
);
