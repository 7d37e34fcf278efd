import type { BridgeSubject } from '../subject.js';
import { calls, payloadNames } from '../work.js';
import { answerOf, type Request, requests } from './requests.js';

interface Asked extends Request {
  readonly id: number;
}

const subject: BridgeSubject = {
  name: 'postMessage',
  role: 'peer',
  note: "Awaited. By hand: the worker's own postMessage, answers are cloned and found by a number.",
  platforms: ['Chromium', 'Node'],
  does: [...calls, 'in flight', ...payloadNames],
  doneBy: { awaited: 'call' },
  async serve({ functions, startWorker }) {
    const { thread } = startWorker();
    thread.listen((asked: Asked) => {
      thread.post({ id: asked.id, answer: answerOf(functions, asked) });
    });
    return undefined;
  },
  async connect({ thread }) {
    const pending = new Map<number, (answer: unknown) => void>();
    let last = 0;
    thread.listen(({ id, answer }: { readonly id: number; readonly answer: unknown }) => {
      pending.get(id)?.(answer);
      pending.delete(id);
    });
    return {
      awaited: requests(
        (request) =>
          new Promise((resolve) => {
            last += 1;
            pending.set(last, resolve);
            thread.post({ ...request, id: last });
          }),
      ),
    };
  },
};

export default subject;
