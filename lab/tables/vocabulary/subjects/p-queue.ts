import { pQueue } from '../p-queue.js';

export default pQueue({
  name: 'p-queue',
  note: 'With its defaults: fixed windows, whose limits its documentation describes.',
  isStrict: false,
});
