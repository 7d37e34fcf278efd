/**
 * Model checking of the ring: runs its own code in every interleaving of a writer and a reader, with a switch before
 * every operation on a shared word. Every frame must be read once, in order and complete; each thread may access only
 * the bytes that it owns; and no thread may sleep while there is a frame to read or space to use.
 *
 * The search must also find each of a list of mistakes, inserted into the code one at a time. POINTSMAN_SEARCH is the
 * maximum number of states per scenario; some scenarios have too many to visit all.
 */
import { readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { type Instrumented, instrument } from './model/instrument.js';
import { type SearchResult, search } from './model/search.js';
import { Shared } from './model/shared.js';
import type { Frame, Scenario } from './model/sides.js';

const states = Number(process.env.POINTSMAN_SEARCH ?? 10_000);
// A search computes for seconds, and a busy machine gives it a fraction of a core.
const timeout = 120_000 + 2 * states;

const source = readFileSync(new URL('ring.ts', import.meta.url), 'utf8');

/** The source with exactly one place changed. */
function change(text: string, from: string, to: string): string {
  // A text that no longer matches would insert no mistake.
  expect(text.split(from), from).toHaveLength(2);
  return text.replace(from, () => to);
}

/** The model's ring has 256 bytes. */
const small = change(
  change(source, 'RESTART = 1 << 15', 'RESTART = 16'),
  'EMPTY_CHECK_INTERVAL = 1 << 12',
  'EMPTY_CHECK_INTERVAL = 8',
);

function load(text: string, shared: Shared): Instrumented {
  return instrument(transformSync(text, { loader: 'ts', target: 'es2022' }).code, shared);
}

function searchIn(text: string, scenario: Scenario, maxStates: number): SearchResult {
  const shared = new Shared(!scenario.byMessage);
  return search(scenario, load(text, shared), shared, maxStates);
}

const later = (size: number): Frame => ({ size, blocks: false });
const blocks = (size: number): Frame => ({ size, blocks: true });

const plans: Omit<Scenario, 'byMessage'>[] = [
  { name: 'blocking', frames: [8, 0, 8].map(later), blockingFrames: 3, hasEventLoop: false },
  { name: 'event loop', frames: [8, 8, 8].map(later), blockingFrames: 0, hasEventLoop: true },
  {
    name: 'event loop and blocking',
    frames: [8, 8, 8].map(later),
    blockingFrames: 2,
    hasEventLoop: true,
  },
  { name: 'no space', frames: [232, 8].map(blocks), blockingFrames: 2, hasEventLoop: false },
  {
    name: 'little space',
    frames: [100, 40, 90].map(blocks),
    blockingFrames: 3,
    hasEventLoop: false,
  },
  {
    name: 'little space, event loops',
    frames: [100, 90, 90].map(later),
    blockingFrames: 0,
    hasEventLoop: true,
  },
  {
    name: 'little space, event loops and blocking',
    frames: [later(100), blocks(90)],
    blockingFrames: 1,
    hasEventLoop: true,
  },
  { name: 'restart', frames: [60, 8, 8].map(later), blockingFrames: 0, hasEventLoop: true },
  {
    name: 'restart with little space',
    frames: [8, 60].map(later),
    blockingFrames: 0,
    hasEventLoop: true,
  },
  { name: 'parts', frames: [blocks(300)], blockingFrames: 1, hasEventLoop: false },
  { name: 'parts, event loops', frames: [later(300)], blockingFrames: 0, hasEventLoop: true },
  { name: 'queue', frames: [150, 130, 8].map(later), blockingFrames: 3, hasEventLoop: false },
  {
    name: 'writer with event loop and blocking',
    frames: [later(300), blocks(8), later(300)],
    blockingFrames: 0,
    hasEventLoop: true,
  },
  {
    name: 'sleeps that time out',
    frames: [100, 100, 100].map(blocks),
    blockingFrames: 3,
    hasEventLoop: false,
    timeouts: 1,
  },
  {
    name: 'counters that become negative',
    frames: [100, 40, 90].map(later),
    blockingFrames: 3,
    hasEventLoop: false,
    from: 2 ** 31 - 128,
  },
  {
    name: 'counters that wrap to zero',
    frames: [100, 40, 90].map(later),
    blockingFrames: 0,
    hasEventLoop: true,
    from: -128,
  },
];

const scenarios: Scenario[] = plans.flatMap((plan) => [
  plan,
  // A reader that only blocks never needs a message.
  ...(plan.hasEventLoop ? [{ ...plan, name: `${plan.name}, by message`, byMessage: true }] : []),
]);

test.each(scenarios)('no violation: $name', { timeout }, (scenario) => {
  const { violation, trace } = searchIn(small, scenario, states);
  expect({ violation, trace }).toEqual({ violation: undefined, trace: undefined });
});

test('the search covers every interleaving of a few frames', { timeout }, () => {
  const few = scenarios.slice(0, 3);
  const found = few.map((scenario) => searchIn(small, scenario, 100_000));
  expect(found.map(({ complete }) => complete)).toEqual(few.map(() => true));
  // Fewer would mean that some steps contain several operations.
  for (const { states: visited } of found) expect(visited).toBeGreaterThan(400);
});

test('unsupported code is rejected', () => {
  const shared = new Shared(true);
  const inCallback = change(
    source,
    'Atomics.load(this.#words, this.#control + HEAD) === consumed',
    '[0].some(() => Atomics.load(this.#words, this.#control + HEAD) === consumed)',
  );
  expect(() => load(inCallback, shared)).toThrow();
});

interface Mistake {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** The scenario in which the mistake is found, and its violation. */
  readonly scenario: string;
  readonly finds: RegExp;
}

const asleep = /all sleep/;

const mistakes: Mistake[] = [
  {
    name: 'the waker marks the sleeper awake',
    from: 'if (current === ASLEEP) Atomics.notify(words, word);',
    to: 'if (current === ASLEEP) {\n Atomics.store(words, state, AWAKE);\n Atomics.notify(words, word);\n }',
    scenario: 'blocking',
    finds: asleep,
  },
  {
    name: 'the reader marks itself asleep after the wait',
    from: 'Atomics.store(this.#words, reader, ASLEEP);\n    Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);',
    to: 'Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);\n    Atomics.store(this.#words, reader, ASLEEP);',
    scenario: 'blocking',
    finds: asleep,
  },
  {
    name: 'the writer marks itself asleep after the wait',
    from: 'const previous = Atomics.exchange(this.#words, writer, ASLEEP);\n    Atomics.wait(this.#words, this.#control + HEAD, consumed, milliseconds);',
    to: 'Atomics.wait(this.#words, this.#control + HEAD, consumed, milliseconds);\n    const previous = Atomics.exchange(this.#words, writer, ASLEEP);',
    scenario: 'little space',
    finds: asleep,
  },
  {
    name: 'a blocking wait for space resets the state of the one in the event loop',
    from: 'Atomics.store(this.#words, writer, previous);',
    to: 'Atomics.store(this.#words, writer, AWAKE);',
    scenario: 'writer with event loop and blocking, by message',
    finds: asleep,
  },
  {
    name: 'the reader waits for a change after TAIL with unread frames before it',
    from: 'waitAsync(this.#words, this.#control + TAIL, this.#head)',
    to: 'waitAsync(this.#words, this.#control + TAIL, this.#tail)',
    scenario: 'event loop and blocking',
    finds: asleep,
  },
  {
    name: 'the reader does not check again before it waits for a message',
    from: '} else if (!this.ready) {',
    to: '} else {',
    scenario: 'event loop, by message',
    finds: asleep,
  },
  {
    name: 'the reader does not check again before it resumes its sleep',
    from: 'if (!this.ready) return true;',
    to: 'return true;',
    scenario: 'event loop and blocking',
    finds: asleep,
  },
  {
    name: 'the writer does not check again before it waits for a message',
    from: '} else if (Atomics.load(this.#words, this.#control + HEAD) === consumed) {',
    to: '} else {',
    scenario: 'little space, event loops, by message',
    finds: asleep,
  },
  {
    name: 'the reader does not wake the writer',
    from: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: '',
    scenario: 'little space',
    finds: asleep,
  },
  {
    name: 'the writer does not wake the reader',
    from: 'wake(this.#words, this.#control + READER, this.#control + TAIL, this.#wakeByMessage);',
    to: '',
    scenario: 'blocking',
    finds: asleep,
  },
  {
    name: 'the reader notifies the wrong word',
    from: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: 'wake(this.#words, this.#control + WRITER, this.#control + TAIL, this.#wakeByMessage);',
    scenario: 'little space',
    finds: asleep,
  },
  {
    name: 'the reader checks for a sleeper before it stores HEAD',
    from: 'Atomics.store(this.#words, this.#control + HEAD, this.#head);\n    wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);',
    to: 'wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);\n    Atomics.store(this.#words, this.#control + HEAD, this.#head);',
    scenario: 'no space',
    finds: asleep,
  },
  {
    name: 'TAIL is stored before the header',
    from: 'const header = (this.#layout.data + at) >> 2;\n    const words = this.#words;',
    to: 'const header = (this.#layout.data + at) >> 2;\n    const words = this.#words;\n    Atomics.store(words, this.#control + TAIL, this.#tail + HEADER + ((length + 7) & ~7));',
    scenario: 'blocking',
    finds: /the writer writes byte 0, which is the reader's/,
  },
  {
    name: 'a part is released before it is read',
    from: 'this.#assemble(memory.u8.subarray(start, start + length));\n        if ((kind & MORE) !== 0) {\n          this.release();',
    to: 'this.release();\n        this.#assemble(memory.u8.subarray(start, start + length));\n        if ((kind & MORE) !== 0) {',
    scenario: 'parts',
    finds: /the reader reads byte 16, which is the writer's/,
  },
  {
    name: 'a frame is released before it is read',
    from: 'reader.open(memory, start, start + length);\n      }',
    to: 'reader.open(memory, start, start + length);\n      }\n      this.release();\n      this.#size = 0;',
    scenario: 'blocking',
    finds: /the reader reads byte \d+, which is the writer's/,
  },
  {
    name: 'the writer does not count the padding',
    from: 'this.#tail = (this.#tail + bytes) | 0;',
    to: '',
    scenario: 'restart',
    finds: /./,
  },
  {
    name: 'the reader does not skip the padding',
    from: 'this.#size = length;\n',
    to: 'this.#size = HEADER;\n',
    scenario: 'restart',
    finds: /./,
  },
  {
    name: 'padding is not published',
    from: '// Published at once: the next frame may not fit until the reader has skipped the padding.\n    Atomics.store(this.#words, this.#control + TAIL, this.#tail);',
    to: '',
    scenario: 'restart with little space',
    finds: asleep,
  },
  {
    name: 'the writer does not record that a wake-up is due',
    from: 'this.#wakePending = true;\n    Atomics.store(words',
    to: 'Atomics.store(words',
    scenario: 'parts',
    finds: asleep,
  },
  {
    name: 'the writer overestimates the free space',
    from: 'const free = this.#readFree();',
    to: 'const free = this.#readFree() + 64;',
    scenario: 'parts',
    finds: /the writer writes byte \d+, which is the reader's/,
  },
  {
    name: 'a frame overtakes queued frames',
    from: 'if (this.#queue.length > 0 || contiguous <= HEADER) {',
    to: 'if (contiguous <= HEADER) {',
    scenario: 'queue',
    finds: /has header/,
  },
  {
    name: 'a part is not marked as such',
    from: 'last ? queued.kind : queued.kind | MORE',
    to: 'queued.kind',
    scenario: 'parts',
    finds: /frame 0 has changed/,
  },
  {
    name: 'counters are compared without wrapping',
    from: 'let free = capacity - ((this.#tail - this.#head) | 0);',
    to: 'let free = capacity - (this.#tail - this.#head);',
    scenario: 'counters that become negative',
    finds: /which is the reader's/,
  },
];

describe('the search finds the mistake:', () => {
  test.each(mistakes)('$name', { timeout }, ({ from, to, scenario: name, finds }) => {
    const scenario = scenarios.find((one) => one.name === name) as Scenario;
    const found = searchIn(change(small, from, to), scenario, 100_000);
    expect(found.violation).toMatch(finds);
  });
});
