import { Tinypool } from 'tinypool';

export * from '../tasks/index.js';

export function moved(buffer: ArrayBuffer): unknown {
  return Tinypool.move(buffer);
}
