/**
 * What a task carries there and back. Every lane has a payload of its own, as every caller would: one
 * that tasks sent together share is cloned only once.
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

/** Its first byte says which task it belongs to, its last that it is all there. */
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
      if (bytes.byteLength !== 0) throw new Error('copied a buffer that was to be transferred');
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
      // Only the same memory shows what has just been written.
      checkBytes(new Uint8Array(answer), megabyte, bytes[0]);
    },
  };
};

function checkBytes(bytes: Uint8Array, length: number, mark: number | undefined): void {
  if (bytes.length !== length || bytes[0] !== mark || bytes[length - 1] !== 7) {
    throw new Error(`answered other bytes than the ${length} it was given`);
  }
}

/** About a kilobyte as JSON. */
const record: LaneMaker = (pool) => {
  const order = {
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
  return {
    ask() {
      order.id += 1;
      return pool.run('echo', order);
    },
    check(answer) {
      const { id, lines } = answer as typeof order;
      const last = lines.at(-1);
      if (id !== order.id || lines.length !== 10 || last?.tags[2] !== 'new') {
        throw new Error('answered another object than it was given');
      }
    },
  };
};

export const numberLanes = (pool: OpenPool, inFlight: number): Lane[] =>
  Array.from({ length: inFlight }, () => number(pool));

/** By name; `inFlight` tasks are under way at any time. */
export const payloads: Readonly<
  Record<string, { readonly inFlight: number; readonly lane: LaneMaker }>
> = {
  '1 kB of bytes': { inFlight: 16, lane: marked(kilobyte) },
  'a 1 kB object': { inFlight: 16, lane: record },
  '1 MB of bytes, cloned': { inFlight: 4, lane: marked(megabyte) },
  '1 MB of bytes, transferred': { inFlight: 4, lane: moved },
  '1 MB of shared memory': { inFlight: 16, lane: shared },
};
