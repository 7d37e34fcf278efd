/** The layout of the shared memory: the shared state, the control blocks of two rings, and their data. */

import { Memory } from './ring/memory.js';
import { CONTROL, RingReader, RingWriter } from './ring/ring.js';
import { type Role, STATE_SIZE } from './shared-state.js';

const UP_CONTROL = STATE_SIZE;
const DOWN_CONTROL = UP_CONTROL + CONTROL;
export const MEMORY_HEAD = DOWN_CONTROL + CONTROL;

/** Creates the rings of one side. `up` is from the worker to the host, `down` from the host to the worker. */
export function ringsOf(
  memory: SharedArrayBuffer,
  role: Role,
  post: (type: 'space' | 'wake') => void,
): { readonly ringReader: RingReader; readonly ringWriter: RingWriter } {
  const capacity = (memory.byteLength - MEMORY_HEAD) / 2;
  const views = new Memory(memory);
  const up = { memory: views, control: UP_CONTROL, data: MEMORY_HEAD, capacity };
  const down = { ...up, control: DOWN_CONTROL, data: MEMORY_HEAD + capacity };
  const [from, to] = role === 'host' ? [up, down] : [down, up];
  return {
    ringReader: new RingReader(from, () => post('space')),
    ringWriter: new RingWriter(to, () => post('wake')),
  };
}
