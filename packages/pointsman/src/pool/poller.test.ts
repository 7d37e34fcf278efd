/** When the host polls for results. The results are simulated: each test says which poll finds one. */
import { expect, test } from 'vitest';
import { soon } from '../transport/event-loop.js';
import { Poller } from './poller.js';

const turn = () => new Promise<void>((resolve) => soon(resolve));

/**
 * Submits a task whenever the poller does not poll, for up to `turns` turns of the event loop or until it has begun to
 * poll `most` times. Poll number `finds` after each submission finds a result. Returns how often it began to poll.
 */
async function submit(finds: number, turns: number, most: number): Promise<number> {
  let polls = 0;
  let asked = 0;
  const poller = new Poller(
    () => ++polls === finds,
    () => ++asked > 0,
  );
  let begun = 0;
  for (let n = 0; n < turns && begun < most; n++) {
    const before = asked;
    // A poller that polls, or pauses, does not ask whether a result is due.
    poller.expect();
    if (asked > before) {
      begun++;
      polls = 0;
    }
    await turn();
  }
  return begun;
}

test('three vain polls in a row make it sleep at once', async () => {
  expect(await submit(Infinity, 5_000, 10)).toBe(3);
});

test('results that it has waited for keep it polling', async () => {
  expect(await submit(2, Infinity, 10)).toBe(10);
});

test('results that the first poll finds do not, because it has not waited for them', async () => {
  expect(await submit(1, 5_000, 10)).toBe(3);
});
