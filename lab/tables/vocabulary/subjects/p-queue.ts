import { pQueue } from '../p-queue.js';

export default pQueue({
  name: 'p-queue',
  note: 'With its defaults. Its windows begin anew, and its documentation says what that lets through.',
  isStrict: false,
});
