/** A program may load several copies of the package, for example through its dependencies. */
import { expect, test, vi } from 'vitest';
import { bridged, transports } from '../../tests/bridge/threads.js';
import { transfer } from './index.js';

test.each(transports)(
  'a buffer that another copy transfers is moved, over %s',
  async (transport) => {
    vi.resetModules();
    const another: typeof import('./index.js') = await import('./index.js');
    expect(another.transfer).not.toBe(transfer);
    const { bridge } = await bridged(
      {},
      { transport, serve: () => ({ size: (buffer: ArrayBuffer) => buffer.byteLength }) },
    );
    const buffer = new ArrayBuffer(8);
    expect(await bridge.worker.size(another.transfer(buffer, [buffer]))).toBe(8);
    expect(buffer.byteLength).toBe(0);
  },
);
