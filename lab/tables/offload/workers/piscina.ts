import { move } from 'piscina';

export * from '../tasks/index.js';

export function moved(buffer: ArrayBuffer): unknown {
  return move(buffer);
}
