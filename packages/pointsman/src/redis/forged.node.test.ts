/** A client that may only publish and subscribe can neither grant a lock nor take one. */
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { untilWaiting, useServer, watch, ways } from '../../tests/redis/scene.js';
import { signMessage } from '../shared/protocol/wire.js';

const scene = useServer();

/** A client that is not a process of the namespace. */
async function stranger() {
  const [ear, mouth] = [new Redis(scene.server.port), new Redis(scene.server.port)];
  onTestFinished(() => {
    ear.disconnect();
    mouth.disconnect();
  });
  const heard: string[] = [];
  ear.on('pmessage', (_, channel, text) => {
    if (channel !== `{${scene.namespace}}:`) heard.push(text);
  });
  await ear.psubscribe(`{${scene.namespace}}:*`);
  /** Publishes a message in the channels of all processes. */
  const say = async (text: string): Promise<void> => {
    const channels = (await mouth.pubsub('CHANNELS', `{${scene.namespace}}:*`)) as string[];
    for (const channel of channels) await mouth.publish(channel, text);
  };
  return { heard, say };
}

const highest = `${Number.MAX_SAFE_INTEGER}`;

describe.each(ways)('$handler, $mode', (way) => {
  /** One process holds `k`, the other waits for it. Each waits for a further key of the other. */
  async function scenario() {
    const evil = await stranger();
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock('k');
    const [first, second] = [await a.lock('first'), await b.lock('second')];
    const waiter = watch(b.lock('k'));
    await untilWaiting(a, 1);
    const [waitFirst, waitSecond] = [b.lock('first'), a.lock('second')];
    await untilWaiting(a, 3);
    const { held, waiting } = await a.query();
    const heldId = held.find(({ keys }) => keys.includes('k'))?.id as string;
    const waitingId = waiting.find(({ keys }) => keys.includes('k'))?.id as string;
    /** Resolves when both have received all messages published before. */
    const both = async (): Promise<void> => {
      await Promise.all([first.release(), second.release()]);
      for (const other of [await waitFirst, await waitSecond]) await other.release();
    };
    return { ...evil, guard, waiter, heldId, waitingId, both };
  }

  test('a forged grant and a forged loss are ignored', async () => {
    const { say, guard, waiter, heldId, waitingId, both } = await scenario();
    for (const [name, ...rest] of [
      ['held', waitingId, highest, 0],
      ['taken', heldId, highest],
      ['revoke', heldId],
    ]) {
      const text = JSON.stringify([name, ...rest]);
      await say(text);
      await say(`${'0'.repeat(40)}${text}`);
    }
    const grant = { id: waitingId, token: Number.MAX_SAFE_INTEGER, contended: false, extra: [] };
    await say(signMessage({ name: 'held', grant }, 'guessed'));
    await say(signMessage({ name: 'held', grant }, ''));
    await both();
    expect(waiter.state).toBe('pending');
    expect([guard.valid, guard.signal.aborted]).toEqual([true, false]);
    await guard.release();
    await (await waiter.promise).release();
  });

  test('a replayed or changed message is ignored', async () => {
    const { say, heard, guard, waiter, waitingId, both } = await scenario();
    await both();
    const said = [...heard];
    expect(said.some((text) => text.includes('"held"'))).toBe(true);
    for (const text of said) {
      await say(text);
      const message = JSON.parse(text.slice(40)) as unknown[];
      await say(text.slice(0, 40) + JSON.stringify([message[0], waitingId, ...message.slice(2)]));
    }
    await guard.extend();
    expect(waiter.state).toBe('pending');
    await guard.release();
    const next = await waiter.promise;
    expect(next.token).toBeGreaterThan(guard.token);
    await next.release();
  });
});
