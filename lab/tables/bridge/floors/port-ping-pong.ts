import { expectedRect } from '../host/functions.js';
import type { BridgeSubject, Thread } from '../subject.js';
import { calls } from '../work.js';

const portFrom = (thread: Thread) => new Promise<MessagePort>((resolve) => thread.listen(resolve));

const subject: BridgeSubject = {
  name: 'two workers, MessagePort',
  role: 'floor',
  note: 'A number to another worker and back, awaited.',
  platforms: ['Chromium', 'Node'],
  does: calls,
  doneBy: { awaited: 'call' },
  uncounted: true,
  async serve({ startWorker }) {
    const { port1, port2 } = new MessageChannel();
    startWorker('connect').thread.post(port1, [port1]);
    startWorker('echo').thread.post(port2, [port2]);
    return undefined;
  },
  async connect({ thread }) {
    const port = await portFrom(thread);
    let heard = () => {};
    port.onmessage = () => heard();
    return {
      awaited: {
        rect: () =>
          new Promise((resolve) => {
            heard = () => resolve(expectedRect);
            port.postMessage(0);
          }),
      },
    };
  },
  async echo({ thread }) {
    const port = await portFrom(thread);
    port.onmessage = () => port.postMessage(0);
  },
};

export default subject;
