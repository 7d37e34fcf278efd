/** The runtimes, and the floors: work that no runtime can avoid. */
import type { Subject } from '../../harness/table.js';

export const pointsman: Subject = {
  name: 'pointsman',
  role: 'ours',
  note: 'One worker is the thread that blocks, as with Tokio.',
};

/** Not another runtime: ours without a feature that is on by default. */
export const plain: Subject = {
  name: 'pointsman-plain',
  role: 'peer',
  note: "Ours without its default feature `diagnostics`, in the rows of that feature's cost only.",
};

export const tokio: Subject = {
  name: 'tokio',
  role: 'peer',
  note: 'One worker is `current_thread`, more are `multi_thread`; with `enable_all`.',
};

export const nio: Subject = {
  name: 'nio',
  role: 'peer',
  note: 'Has no channels; it uses the published ones in every form. As published each worker is a thread of its own; otherwise the first worker is the thread that blocks, as with `#[nio::main]`, unless that thread waits outside.',
};

export const runtimes: readonly Subject[] = [pointsman, nio, tokio];

function floor(name: string): Subject {
  return { name, role: 'floor' };
}

export const polledInPlace = floor('futures polled where they are made');
export const workAlone = floor('the work alone, on all cores');
export const plainQueue = floor('a queue that nobody shares');
export const parkedThread = floor('a parked thread');
export const sleepingThread = floor('a sleeping thread');

export const floors: readonly Subject[] = [
  polledInPlace,
  workAlone,
  plainQueue,
  parkedThread,
  sleepingThread,
];
