import { describe, expect, it } from 'vitest';
import { bytesOf, expectedRect, parcel, rectWithoutPage, textOf } from '../host/functions.js';
import { type Ground, Session } from '../host/session.js';
import type { BridgeSubject, Caller } from '../subject.js';
import { payloadNames, type Work } from '../work.js';
import type { Order } from './order.js';
import { perform } from './perform.js';

function orderOf(work: Work): Order {
  return { work, warmUpMilliseconds: 1, samples: 3, sampleMilliseconds: 1, group: 4 };
}

const right: Caller = {
  blocking: {
    rect: rectWithoutPage,
    bytes: (length) => bytesOf(length).slice(),
    text: textOf,
    record: () => structuredClone(parcel),
  },
  awaited: { rect: async () => rectWithoutPage() },
  rectOfAsync: rectWithoutPage,
  batch: (calls) => Array.from({ length: calls }, rectWithoutPage),
};

const throughputs: Work[] = [
  'call',
  'awaited',
  'async function',
  'in flight',
  'batch of 8',
  ...payloadNames,
];

describe('an order', () => {
  it.each(throughputs)('%s yields the requested number of samples', async (work) => {
    const { samples, calls } = await perform(orderOf(work), right, false);
    expect(samples[work]?.every((perSecond) => perSecond > 0)).toBe(true);
    expect(samples[work]?.length).toBeLessThanOrEqual(3);
    expect(calls).toBeGreaterThan(0);
  });

  it('counts the calls of a batch and those in flight one by one', async () => {
    let answered = 0;
    const count = () => {
      answered += 1;
      return rectWithoutPage();
    };
    const caller: Caller = {
      awaited: { rect: async () => count() },
      batch: (calls) => Array.from({ length: calls }, count),
    };
    for (const work of ['in flight', 'batch of 64', 'single'] as const) {
      answered = 0;
      const { calls } = await perform(orderOf(work), caller, false);
      expect(calls).toBe(answered);
    }
  });

  it('fails at the first wrong number', async () => {
    const wrong: Caller = { blocking: { rect: () => ({ ...expectedRect, bottom: 216 }) } };
    await expect(perform(orderOf('call'), wrong, false)).rejects.toThrow('"bottom":216');
  });

  it('accepts whole numbers only from a subject that declares them', async () => {
    const cut = Object.fromEntries(
      Object.entries(expectedRect).map(([name, value]) => [name, Math.trunc(value)]),
    );
    const caller: Caller = { blocking: { rect: () => cut as unknown as typeof expectedRect } };
    await expect(perform(orderOf('call'), caller, false)).rejects.toThrow('answered');
    await expect(perform(orderOf('call'), caller, true)).resolves.toBeDefined();
  });

  it('fails at bytes, text and objects that differ from those sent', async () => {
    const wrong: Caller = {
      blocking: {
        bytes: (length) => bytesOf(length).slice().fill(0, 3, 4),
        text: (length) => textOf(length).slice(1),
        record: () => ({ ...parcel, items: parcel.items.slice(1) }),
      },
    };
    for (const payload of payloadNames) {
      await expect(perform(orderOf(payload), wrong, false)).rejects.toThrow(payload);
    }
  });

  it('fails at a batch with fewer answers than calls', async () => {
    const short: Caller = { batch: () => [rectWithoutPage()], blocking: right.blocking ?? {} };
    await expect(perform(orderOf('batch of 8'), short, false)).rejects.toThrow('1 of 8');
  });
});

describe('a session', () => {
  it('rejects a subject that invents answers', async () => {
    const subject: BridgeSubject = {
      name: 'from memory',
      role: 'peer',
      platforms: ['Node'],
      does: ['call'],
      serve: async ({ functions }) => {
        const remembered = functions.rect();
        return { blocking: { rect: () => remembered } };
      },
    };
    const ground: Ground = {
      platform: 'Node',
      rect: rectWithoutPage,
      startWorker: () => {
        throw new Error('needs no worker');
      },
    };
    const session = await Session.open(subject, ground);
    await expect(session.run(orderOf('call'))).rejects.toThrow(/of which 0 were answered/);
    session.close();
  });
});
