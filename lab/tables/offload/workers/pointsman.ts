import { type Transferred, transfer } from 'pointsman/pool';

export * from '../tasks/index.js';

export function moved(buffer: ArrayBuffer): Transferred<ArrayBuffer> {
  return transfer(buffer, [buffer]);
}

export function shared(memory: SharedArrayBuffer): Transferred<SharedArrayBuffer> {
  return transfer(memory, []);
}
