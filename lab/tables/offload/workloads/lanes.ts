/**
 * The payload of a task, there and back. Every lane has its own payload, as separate callers would: an object shared
 * by tasks that are sent together is cloned only once.
 */
import type { OpenPool } from '../subject.js';
import type { Lane } from './closed-loop.js';

type LaneMaker = (pool: OpenPool) => Lane;

const kilobyte = 1 << 10;
const megabyte = 1 << 20;

const number: LaneMaker = (pool) => {
  let asked = 0;
  return {
    ask: () => pool.run('echo', ++asked),
    check(answer) {
      if (answer !== asked) throw new Error(`answered ${String(answer)} for ${asked}`);
    },
  };
};

/** The first byte identifies the task, the last one shows that the payload is complete. */
function marked(length: number): (pool: OpenPool) => Lane {
  return (pool) => {
    const bytes = new Uint8Array(length).fill(7);
    return {
      ask() {
        bytes[0] = ((bytes[0] ?? 0) + 1) & 0xff;
        return pool.run('echo', bytes);
      },
      check(answer) {
        if (!(answer instanceof Uint8Array)) throw new Error('answered no bytes');
        checkBytes(answer, length, bytes[0]);
      },
    };
  };
}

const moved: LaneMaker = (pool) => {
  let bytes = new Uint8Array(megabyte).fill(7);
  let mark = 0;
  return {
    ask() {
      mark = (mark + 1) & 0xff;
      bytes[0] = mark;
      return pool.run('moved', bytes.buffer, { transfer: [bytes.buffer] });
    },
    check(answer) {
      if (!(answer instanceof ArrayBuffer)) throw new Error('answered no buffer');
      if (bytes.byteLength !== 0) throw new Error('copied a buffer instead of transferring it');
      bytes = new Uint8Array(answer);
      checkBytes(bytes, megabyte, mark);
    },
  };
};

const shared: LaneMaker = (pool) => {
  const bytes = new Uint8Array(new SharedArrayBuffer(megabyte)).fill(7);
  return {
    ask: () => pool.run('shared', bytes.buffer),
    check(answer) {
      if (!(answer instanceof SharedArrayBuffer)) throw new Error('answered no shared buffer');
      bytes[0] = ((bytes[0] ?? 0) + 1) & 0xff;
      // Only the same memory contains what was just written.
      checkBytes(new Uint8Array(answer), megabyte, bytes[0]);
    },
  };
};

function checkBytes(bytes: Uint8Array, length: number, mark: number | undefined): void {
  if (bytes.length !== length || bytes[0] !== mark || bytes[length - 1] !== 7) {
    throw new Error(`answered other bytes than the ${length} it was given`);
  }
}

/** Orders of about a kilobyte each as JSON. */
function records(count: number): LaneMaker {
  return (pool) => {
    const orders = Array.from({ length: count }, makeOrder);
    return {
      ask() {
        for (const order of orders) order.id += 1;
        return pool.run('echo', orders);
      },
      check(answer) {
        const answered = answer as typeof orders;
        const last = answered.at(-1);
        if (answered.length !== count || last?.id !== orders[0]?.id) {
          throw new Error('answered other objects than it was given');
        }
        if (last?.lines.length !== 10 || last.lines[9]?.tags[2] !== 'new') {
          throw new Error('answered objects that lack something');
        }
      },
    };
  };
}

function makeOrder() {
  return {
    id: 0,
    customer: { name: 'Ada Lovelace', email: 'ada@example.org', since: 1843, isActive: true },
    lines: Array.from({ length: 10 }, (_, index) => ({
      article: `article-${index}`,
      quantity: index + 1,
      price: 19.95 + index,
      tags: ['blue', 'large', 'new'],
    })),
    note: 'Leave it at the door if nobody is in.',
  };
}

/** Two strings in turn, so an answer to the previous task is detected; none is created during the measurement. */
function text(pattern: string, length: number): LaneMaker {
  const body = pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length - 1);
  // Flattened, so that the engine does not keep a tree of its parts.
  const texts = ['1', '2'].map((mark) => Buffer.from(body + mark, 'latin1').toString('latin1'));
  return (pool) => {
    let asked = 0;
    return {
      ask() {
        asked += 1;
        return pool.run('echo', texts[asked % 2]);
      },
      check(answer) {
        if (answer !== texts[asked % 2]) throw new Error('answered another text than it was given');
      },
    };
  };
}

const plain = 'The points are set for the main line. ';
/** Letters with accents: one byte each in the engine, two as UTF-8. */
const accented = 'Les aiguillages sont réglés; der Zug fährt über die Brücke. ';

export const numberLanes = (pool: OpenPool, inFlight: number): Lane[] =>
  Array.from({ length: inFlight }, () => number(pool));

export interface Payload {
  /** The number of tasks in flight at any time. */
  readonly inFlight: number;
  readonly lane: LaneMaker;
}

/** By kind, each of which is a cell, and by name. */
export const payloads: Readonly<Record<string, Readonly<Record<string, Payload>>>> = {
  'up to 64 kB': {
    '1 kB of bytes': { inFlight: 16, lane: marked(kilobyte) },
    '1 kB of text': { inFlight: 16, lane: text(plain, kilobyte) },
    '1 kB of objects': { inFlight: 16, lane: records(1) },
    '64 kB of bytes': { inFlight: 4, lane: marked(64 * kilobyte) },
    '64 kB of text with accents': { inFlight: 4, lane: text(accented, 64 * kilobyte) },
    '64 kB of objects': { inFlight: 4, lane: records(64) },
  },
  'a megabyte': {
    '1 MB of text': { inFlight: 2, lane: text(plain, megabyte) },
    '1 MB of bytes, cloned': { inFlight: 4, lane: marked(megabyte) },
    '1 MB of bytes, transferred': { inFlight: 4, lane: moved },
    '1 MB of shared memory': { inFlight: 16, lane: shared },
  },
};
