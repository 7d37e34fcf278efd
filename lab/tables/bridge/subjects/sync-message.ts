import type { BridgeSubject } from '../subject.js';
import { calls, jsonPayloads } from '../work.js';
import { answerOf, type Request, requests } from './requests.js';

/** Its default of 128 kB is too small for the largest text. */
const bufferSize = 4 << 20;

interface Asked extends Request {
  readonly messageId: string;
}

const subject: BridgeSubject = {
  name: 'sync-message',
  role: 'peer',
  package: 'sync-message',
  note: 'Carries JSON, so no bytes. Requests use postMessage; the worker reads the answer from shared memory.',
  platforms: ['Chromium'],
  does: [...calls, ...jsonPayloads],
  doneBy: { 'batch of 8': 'call' },
  async serve({ functions, startWorker }) {
    const { makeChannel, writeMessage } = await import('sync-message');
    const channel = makeChannel({ atomics: { bufferSize } });
    if (channel?.type !== 'atomics') throw new Error('found no shared memory');
    const { thread } = startWorker();
    thread.listen((asked: Asked) => {
      void writeMessage(channel, answerOf(functions, asked), asked.messageId);
    });
    thread.post({ channel });
    return undefined;
  },
  async connect({ thread }) {
    const { readMessage, uuidv4 } = await import('sync-message');
    type Channel = Parameters<typeof readMessage>[0];
    const { channel } = await new Promise<{ readonly channel: Channel }>((resolve) =>
      thread.listen(resolve),
    );
    return {
      blocking: requests((request) => {
        const messageId = uuidv4();
        thread.post({ ...request, messageId });
        return readMessage(channel, messageId);
      }),
    };
  },
};

export default subject;
