/** Sends a number to a second worker and back: the cost of one way to wait, without any payload. */
import { expectedRect } from '../host/functions.js';
import type { BridgeSubject } from '../subject.js';
import { calls } from '../work.js';

/** Words far enough apart that they share no cache line. */
const ping = 0;
const pong = 64;
/** 1 between slices: the echo sleeps instead of spinning. */
const resting = 128;
const bufferBytes = 1_024;

type Wait = (words: Int32Array, word: number, while_: number) => void;

const sleep: Wait = (words, word, value) => {
  while (Atomics.load(words, word) === value) Atomics.wait(words, word, value);
};

const spin: Wait = (words, word, value) => {
  while (Atomics.load(words, word) === value) {
    if (Atomics.load(words, resting) === 1) Atomics.wait(words, resting, 1);
  }
};

export default [
  memoryPingPong({
    name: 'two workers, polling',
    wait: 'spin',
    note: 'A number to another worker and back; both spin while they wait, each on a core.',
  }),
  memoryPingPong({
    name: 'two workers, Atomics.wait',
    wait: 'sleep',
    note: 'A number to another worker and back; both sleep while they wait.',
  }),
];

function memoryPingPong({
  wait,
  ...described
}: {
  readonly name: string;
  readonly note: string;
  readonly wait: 'sleep' | 'spin';
}): BridgeSubject {
  const until = wait === 'sleep' ? sleep : spin;
  const wake = (words: Int32Array, word: number, value: number) => {
    Atomics.store(words, word, value);
    if (wait === 'sleep') Atomics.notify(words, word);
  };
  return {
    ...described,
    role: 'floor',
    platforms: ['Chromium', 'Node'],
    does: calls,
    uncounted: true,
    async serve({ startWorker }) {
      const buffer = new SharedArrayBuffer(bufferBytes);
      startWorker('connect').thread.post(buffer);
      startWorker('echo').thread.post(buffer);
      return undefined;
    },
    async connect({ thread }) {
      const words = new Int32Array(
        await new Promise<SharedArrayBuffer>((resolve) => thread.listen(resolve)),
      );
      let turn = 0;
      return {
        rest: () => void Atomics.store(words, resting, 1),
        resume() {
          Atomics.store(words, resting, 0);
          Atomics.notify(words, resting);
        },
        blocking: {
          rect() {
            turn += 1;
            wake(words, ping, turn);
            until(words, pong, turn - 1);
            return expectedRect;
          },
        },
      };
    },
    async echo({ thread }) {
      const words = new Int32Array(
        await new Promise<SharedArrayBuffer>((resolve) => thread.listen(resolve)),
      );
      for (let turn = 1; ; turn++) {
        until(words, ping, turn - 1);
        wake(words, pong, turn);
      }
    },
  };
}
