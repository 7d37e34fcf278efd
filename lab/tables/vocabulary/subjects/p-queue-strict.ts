import { pQueue } from '../p-queue.js';

export default pQueue({
  name: 'p-queue, strict',
  note: 'With sliding windows.',
  isStrict: true,
});
