import type { BridgeSubject } from '../subject.js';
import { bytePayloads } from '../work.js';

const mostBytes = 1 << 20;
const state = 0;
const firstByte = 8;
const waiting = 0;

const subject: BridgeSubject = {
  name: 'copy in shared memory',
  role: 'peer',
  note: 'Hand-written: requests use postMessage; the host copies into shared memory, the worker copies out.',
  platforms: ['Chromium', 'Node'],
  does: bytePayloads,
  async serve({ functions, startWorker }) {
    const buffer = new SharedArrayBuffer(firstByte + mostBytes);
    const words = new Int32Array(buffer, 0, 2);
    const shared = new Uint8Array(buffer, firstByte);
    const { thread } = startWorker();
    thread.listen((length: number) => {
      shared.set(functions.bytes(length));
      Atomics.store(words, state, 1);
      Atomics.notify(words, state);
    });
    thread.post(buffer);
    return undefined;
  },
  async connect({ thread }) {
    const buffer = await new Promise<SharedArrayBuffer>((resolve) => thread.listen(resolve));
    const words = new Int32Array(buffer, 0, 2);
    const shared = new Uint8Array(buffer, firstByte);
    return {
      blocking: {
        bytes(length) {
          Atomics.store(words, state, waiting);
          thread.post(length);
          Atomics.wait(words, state, waiting);
          return shared.slice(0, length);
        },
      },
    };
  },
};

export default subject;
