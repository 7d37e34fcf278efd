import type { BridgeSubject } from '../subject.js';
import { bytePayloads } from '../work.js';

const subject: BridgeSubject = {
  name: 'postMessage, transferring a copy',
  role: 'peer',
  note: 'Awaited. Hand-written: the host copies the bytes and transfers the copy.',
  platforms: ['Chromium', 'Node'],
  does: bytePayloads,
  async serve({ functions, startWorker }) {
    const { thread } = startWorker();
    thread.listen((length: number) => {
      const copy = functions.bytes(length).slice();
      thread.post(copy, [copy.buffer]);
    });
    return undefined;
  },
  async connect({ thread }) {
    let heard: (bytes: Uint8Array) => void = () => {};
    thread.listen((bytes: Uint8Array) => heard(bytes));
    return {
      awaited: {
        bytes: (length) =>
          new Promise((resolve) => {
            heard = resolve;
            thread.post(length);
          }),
      },
    };
  },
};

export default subject;
