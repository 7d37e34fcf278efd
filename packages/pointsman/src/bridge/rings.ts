/** Where things lie in the memory that two threads share: what they know of each other, then two rings. */

import { Memory } from './ring/memory.js';
import { CONTROL, RingReader, RingWriter } from './ring/ring.js';
import { type Role, STATE_SIZE } from './shared-state.js';

const UP_CONTROL = STATE_SIZE;
const DOWN_CONTROL = UP_CONTROL + CONTROL;
/** Bytes before the frames. */
export const MEMORY_HEAD = DOWN_CONTROL + CONTROL;

/** The rings of one side: the worker's frames go up, the host's down. */
export function ringsOf(
  memory: SharedArrayBuffer,
  role: Role,
  post: (type: 'room' | 'wake') => void,
): { readonly ringReader: RingReader; readonly ringWriter: RingWriter } {
  const capacity = (memory.byteLength - MEMORY_HEAD) / 2;
  const views = new Memory(memory);
  const up = { memory: views, control: UP_CONTROL, data: MEMORY_HEAD, capacity };
  const down = { ...up, control: DOWN_CONTROL, data: MEMORY_HEAD + capacity };
  const [from, to] = role === 'host' ? [up, down] : [down, up];
  return {
    ringReader: new RingReader(from, () => post('room')),
    ringWriter: new RingWriter(to, () => post('wake')),
  };
}
