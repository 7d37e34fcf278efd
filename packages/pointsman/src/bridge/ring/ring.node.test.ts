/**
 * The ring, searched: its own code, with a stop before every operation on a shared word, run by a
 * writer and a reader in every order there is. In none of them is a law broken: every frame is read, in
 * order, whole and once; no byte is touched by who does not own it; and nobody sleeps while there is
 * something to read or room to use.
 *
 * The same search has to find each of a list of mistakes, made one at a time in the code.
 * POINTSMAN_SEARCH is how many states to visit for each setup; there are more for some than anybody
 * can wait for.
 */
import { readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { type Instrumented, instrument } from './model/instrument.js';
import { type Found, search } from './model/search.js';
import { Shared } from './model/shared.js';
import type { Frame, Setup } from './model/ways.js';

const states = Number(process.env.POINTSMAN_SEARCH ?? 10_000);
const timeout = 20_000 + 2 * states;

const source = readFileSync(new URL('ring.ts', import.meta.url), 'utf8');

/** The source with exactly one place changed. */
function change(text: string, from: string, to: string): string {
  // What no longer fits would never be made.
  expect(text.split(from), from).toHaveLength(2);
  return text.replace(from, () => to);
}

/** The model's ring has 256 bytes. */
const small = change(
  change(source, 'RESTART = 1 << 15', 'RESTART = 16'),
  'LOOK = 1 << 12',
  'LOOK = 8',
);

function load(text: string, shared: Shared): Instrumented {
  return instrument(transformSync(text, { loader: 'ts', target: 'es2022' }).code, shared);
}

function searchIn(text: string, setup: Setup, most: number): Found {
  const shared = new Shared(!setup.byMessage);
  return search(setup, load(text, shared), shared, most);
}

const later = (size: number): Frame => ({ size, blocks: false });
const blocks = (size: number): Frame => ({ size, blocks: true });

const plans: Omit<Setup, 'byMessage'>[] = [
  { name: 'who blocks', frames: [8, 0, 8].map(later), blocksFor: 3, attends: false },
  { name: 'an event loop', frames: [8, 8, 8].map(later), blocksFor: 0, attends: true },
  { name: 'blocking in between', frames: [8, 8, 8].map(later), blocksFor: 2, attends: true },
  { name: 'no room', frames: [232, 8].map(blocks), blocksFor: 2, attends: false },
  { name: 'little room', frames: [100, 40, 90].map(blocks), blocksFor: 3, attends: false },
  {
    name: 'little room, event loops',
    frames: [100, 90, 90].map(later),
    blocksFor: 0,
    attends: true,
  },
  { name: 'little room, both', frames: [later(100), blocks(90)], blocksFor: 1, attends: true },
  { name: 'a new beginning', frames: [60, 8, 8].map(later), blocksFor: 0, attends: true },
  {
    name: 'a new beginning with little room',
    frames: [8, 60].map(later),
    blocksFor: 0,
    attends: true,
  },
  { name: 'parts', frames: [blocks(300)], blocksFor: 1, attends: false },
  { name: 'parts, event loops', frames: [later(300)], blocksFor: 0, attends: true },
  { name: 'a queue', frames: [150, 130, 8].map(later), blocksFor: 3, attends: false },
  {
    name: 'a writer that blocks in between',
    frames: [later(300), blocks(8), later(300)],
    blocksFor: 0,
    attends: true,
  },
  {
    name: 'sleeps that end by their time',
    frames: [100, 100, 100].map(blocks),
    blocksFor: 3,
    attends: false,
    timeouts: 1,
  },
  {
    name: 'counters that become negative',
    frames: [100, 40, 90].map(later),
    blocksFor: 3,
    attends: false,
    from: 2 ** 31 - 128,
  },
  {
    name: 'counters that begin anew',
    frames: [100, 40, 90].map(later),
    blocksFor: 0,
    attends: true,
    from: -128,
  },
];

const setups: Setup[] = plans.flatMap((plan) => [
  plan,
  // Whoever blocks for all never needs a message.
  ...(plan.attends ? [{ ...plan, name: `${plan.name}, by message`, byMessage: true }] : []),
]);

test.each(setups)('nothing goes wrong: $name', { timeout }, (setup) => {
  const { violation, trace } = searchIn(small, setup, states);
  expect({ violation, trace }).toEqual({ violation: undefined, trace: undefined });
});

test('every order of a few frames is gone through', { timeout }, () => {
  const few = setups.slice(0, 3);
  const found = few.map((setup) => searchIn(small, setup, 100_000));
  expect(found.map(({ complete }) => complete)).toEqual(few.map(() => true));
  // Fewer would mean that steps have become too large to come in between.
  for (const { states: visited } of found) expect(visited).toBeGreaterThan(400);
});

test('code that cannot be followed is refused', () => {
  const shared = new Shared(true);
  const inCallback = change(
    source,
    'Atomics.load(this.#words, this.#control + HEAD) === taken',
    '[0].some(() => Atomics.load(this.#words, this.#control + HEAD) === taken)',
  );
  expect(() => load(inCallback, shared)).toThrow();
});

interface Mistake {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** The setup in which it is found, and what is wrong there. */
  readonly setup: string;
  readonly finds: RegExp;
}

const asleep = /all sleep/;

const mistakes: Mistake[] = [
  {
    name: 'says for a sleeper that it is awake',
    from: 'if (said === ASLEEP) Atomics.notify(words, word);',
    to: 'if (said === ASLEEP) {\n Atomics.store(words, state, AWAKE);\n Atomics.notify(words, word);\n }',
    setup: 'who blocks',
    finds: asleep,
  },
  {
    name: 'says that it sleeps when it has slept',
    from: 'Atomics.store(this.#words, reader, ASLEEP);\n    Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);',
    to: 'Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);\n    Atomics.store(this.#words, reader, ASLEEP);',
    setup: 'who blocks',
    finds: asleep,
  },
  {
    name: 'says that it waits for room when it has waited',
    from: 'const said = Atomics.exchange(this.#words, writer, ASLEEP);\n    Atomics.wait(this.#words, this.#control + HEAD, taken, milliseconds);',
    to: 'Atomics.wait(this.#words, this.#control + HEAD, taken, milliseconds);\n    const said = Atomics.exchange(this.#words, writer, ASLEEP);',
    setup: 'little room',
    finds: asleep,
  },
  {
    name: 'forgets after a block that it waits for room in its event loop',
    from: 'Atomics.store(this.#words, writer, said);',
    to: 'Atomics.store(this.#words, writer, AWAKE);',
    setup: 'a writer that blocks in between, by message',
    finds: asleep,
  },
  {
    name: 'waits for a change after what it has seen, and has not read all of that',
    from: 'waitAsync(this.#words, this.#control + TAIL, this.#head)',
    to: 'waitAsync(this.#words, this.#control + TAIL, this.#tail)',
    setup: 'blocking in between',
    finds: asleep,
  },
  {
    name: 'needs a message and does not look again before it sleeps',
    from: '} else if (!this.ready) {',
    to: '} else {',
    setup: 'an event loop, by message',
    finds: asleep,
  },
  {
    name: 'goes back to sleep and does not look again',
    from: 'if (!this.ready) return true;',
    to: 'return true;',
    setup: 'blocking in between',
    finds: asleep,
  },
  {
    name: 'waits for a message about room and does not look again',
    from: '} else if (Atomics.load(this.#words, this.#control + HEAD) === taken) {',
    to: '} else {',
    setup: 'little room, event loops, by message',
    finds: asleep,
  },
  {
    name: 'wakes nobody when there is room',
    from: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: '',
    setup: 'little room',
    finds: asleep,
  },
  {
    name: 'wakes nobody when there is something to read',
    from: 'wake(this.#words, this.#control + READER, this.#control + TAIL, this.#wakeByMessage);',
    to: '',
    setup: 'who blocks',
    finds: asleep,
  },
  {
    name: 'notifies at the wrong word',
    from: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: 'wake(this.#words, this.#control + WRITER, this.#control + TAIL, this.#wakeByMessage);',
    setup: 'little room',
    finds: asleep,
  },
  {
    name: 'looks for a sleeper before it publishes',
    from: 'Atomics.store(this.#words, this.#control + HEAD, this.#head);\n    wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);\n    Atomics.store(this.#words, this.#control + HEAD, this.#head);',
    setup: 'no room',
    finds: asleep,
  },
  {
    name: 'publishes a frame before its header',
    from: 'const header = (this.#place.data + at) >> 2;\n    const words = this.#words;',
    to: 'const header = (this.#place.data + at) >> 2;\n    const words = this.#words;\n    Atomics.store(words, this.#control + TAIL, this.#tail + HEADER + ((length + 7) & ~7));',
    setup: 'who blocks',
    finds: /the writer writes byte 0, which is the reader's/,
  },
  {
    name: 'gives a part back before it has read it',
    from: 'this.#assemble(memory.u8.subarray(start, start + length));\n        if ((kind & MORE) !== 0) {\n          this.release();',
    to: 'this.release();\n        this.#assemble(memory.u8.subarray(start, start + length));\n        if ((kind & MORE) !== 0) {',
    setup: 'parts',
    finds: /the reader reads byte 16, which is the writer's/,
  },
  {
    name: 'gives a frame back before it was read',
    from: 'reader.open(memory, start, start + length);\n      }',
    to: 'reader.open(memory, start, start + length);\n      }\n      this.release();\n      this.#size = 0;',
    setup: 'who blocks',
    finds: /the reader reads byte \d+, which is the writer's/,
  },
  {
    name: 'does not count what it fills up',
    from: 'this.#tail = (this.#tail + bytes) | 0;',
    to: '',
    setup: 'a new beginning',
    finds: /./,
  },
  {
    name: 'does not skip what was filled up',
    from: 'this.#size = length;\n',
    to: 'this.#size = HEADER;\n',
    setup: 'a new beginning',
    finds: /./,
  },
  {
    name: 'keeps to itself that it has filled up',
    from: '// What follows may not fit before the reader has skipped this.\n    Atomics.store(this.#words, this.#control + TAIL, this.#tail);',
    to: '',
    setup: 'a new beginning with little room',
    finds: asleep,
  },
  {
    name: 'forgets that there is news',
    from: 'this.#hasNews = true;\n    Atomics.store(words',
    to: 'Atomics.store(words',
    setup: 'parts',
    finds: asleep,
  },
  {
    name: 'believes that there is more room than there is',
    from: 'const free = this.#room();',
    to: 'const free = this.#room() + 64;',
    setup: 'parts',
    finds: /the writer writes byte \d+, which is the reader's/,
  },
  {
    name: 'lets a frame pass those that wait',
    from: 'if (this.#queue.length > 0 || together <= HEADER) {',
    to: 'if (together <= HEADER) {',
    setup: 'a queue',
    finds: /says/,
  },
  {
    name: 'forgets that a part is followed by others',
    from: 'last ? queued.kind : queued.kind | MORE',
    to: 'queued.kind',
    setup: 'parts',
    finds: /frame 0 is not as it was written/,
  },
  {
    name: 'compares counters as if they never went round',
    from: 'let free = capacity - ((this.#tail - this.#head) | 0);',
    to: 'let free = capacity - (this.#tail - this.#head);',
    setup: 'counters that become negative',
    finds: /which is the reader's/,
  },
];

describe('finds who', () => {
  test.each(mistakes)('$name', { timeout: 60_000 }, ({ from, to, setup: name, finds }) => {
    const setup = setups.find((one) => one.name === name) as Setup;
    const found = searchIn(change(small, from, to), setup, 100_000);
    expect(found.violation).toMatch(finds);
  });
});
