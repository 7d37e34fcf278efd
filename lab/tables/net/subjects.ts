/** The runtimes, and the floors: the same work, hand-written. */
import type { Subject } from '../../harness/table.js';

export const pointsman: Subject = {
  name: 'pointsman',
  role: 'ours',
  note: 'The same programs with Pointsman in place of Tokio, by `[patch.crates-io]`.',
};

export const tokio: Subject = {
  name: 'tokio',
  role: 'peer',
  note: '`multi_thread` with a worker for each core, or `current_thread` on one thread; with `enable_all`.',
};

export const monoio: Subject = {
  name: 'monoio',
  role: 'peer',
  note: 'Its own program on io_uring: a runtime on a thread for each core, which share a port.',
};

export const runtimes: readonly Subject[] = [pointsman, tokio, monoio];

export const byHand: Subject = { name: 'by hand', role: 'floor' };
