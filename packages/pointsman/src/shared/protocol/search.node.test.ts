/**
 * Model search: explores every order in which a few processes with a few keys can send, receive and fail, and checks the
 * rules of `tests/redis/model/rules.ts` in each state.
 *
 * The search must also detect each of a list of mutants of the protocol and of the model of a client. POINTSMAN_SEARCH is
 * the number of states to visit for each setup; some setups have too many to visit all.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import type { Wish } from '../../../tests/redis/model/client.js';
import { files, type Mutant, mutants } from '../../../tests/redis/model/mutants.js';
import { search } from '../../../tests/redis/model/search.js';
import type { Setup } from '../../../tests/redis/model/world.js';

const states = Number(process.env.POINTSMAN_SEARCH ?? 20_000);
// A search computes for seconds, and a busy machine gives it a fraction of a core.
const timeout = 120_000 + states;

const wish = (keys: string): Wish => ({ keys: [...keys] });
/** A lock that its process keeps until another process requests it. */
const kept = (keys: string): Wish => ({ keys: [...keys], revocable: true });

/** A reader, and a request of a semaphore with 3 permits. */
const read = (keys: string): Wish => ({ keys: [...keys], share: { weight: 1, limit: 0 } });
const take = (weight: number): Wish => ({ keys: ['a'], share: { weight, limit: 3 } });

const [a, b, c] = [wish('a'), wish('b'), wish('c')];
const [ab, bc, abc] = [wish('ab'), wish('bc'), wish('abc')];

const three = [0, 1, 2];
const two = [0, 1];

const setups: Setup[] = [
  { name: 'overlapping sets', wishes: [[ab], [abc], [c]], may: { cancel: 1 }, alarmed: three },
  {
    name: 'several requests of a process',
    wishes: [
      [a, b],
      [ab, a],
    ],
    may: {},
    alarmed: two,
  },
  { name: 'keys that are kept', wishes: [[kept('ab')], [kept('b')], [b]], may: {}, alarmed: three },
  {
    name: 'lost messages',
    wishes: [[ab], [kept('b')], [b]],
    may: { deafness: 1 },
    alarmed: three,
  },
  {
    name: 'lost connections for messages',
    wishes: [[ab], [bc], [b]],
    may: { silence: 1 },
    alarmed: three,
  },
  {
    name: 'lost connections for commands',
    wishes: [[a, kept('b')], [a]],
    may: { cut: 1 },
    alarmed: two,
  },
  {
    name: 'both connections lost',
    wishes: [[ab], [b]],
    may: { cut: 1, silence: 1, cancel: 1 },
    alarmed: two,
  },
  { name: 'leases that end', wishes: [[a], [a]], may: { tick: 3, beat: 1 }, alarmed: two },
  { name: 'a lease in doubt', wishes: [[a, b], [a]], may: { tick: 2, beat: 1 }, alarmed: two },
  {
    name: 'a batch that comes after its lease',
    wishes: [
      [a, b],
      [c, a],
    ],
    may: { tick: 2 },
    alarmed: two,
  },
  { name: 'a process that joins late', wishes: [[a, a], [a]], may: { tick: 2 }, alarmed: two },
  { name: 'a process that falls silent', wishes: [[a], [a]], may: { tick: 2, beat: 2 } },
  { name: 'a crash', wishes: [[ab], [bc], [b]], may: { crash: 1, tick: 3 }, alarmed: three },
  { name: 'a loss of the state', wishes: [[a, b], [a]], may: { flush: 1 }, alarmed: [0] },
  { name: 'a loss before the first grant', wishes: [[a, b], [b]], may: { flush: 1 } },
  { name: 'a loss and leases that end', wishes: [[a], [a]], may: { flush: 1, tick: 3, beat: 1 } },
  {
    name: 'a loss and a lost connection',
    wishes: [[a, b], [a]],
    may: { flush: 1, cut: 1, tick: 1 },
  },
  {
    name: 'a loss that is not heard of',
    wishes: [[a], [a]],
    may: { flush: 1, silence: 1 },
    alarmed: [0],
  },
  {
    name: 'a lock that is taken by force',
    wishes: [[a], [kept('a')], [a]],
    may: { force: 1 },
    alarmed: three,
  },
  {
    name: 'force over connections that are lost',
    wishes: [[ab], [b]],
    may: { force: 1, cut: 1, deafness: 1 },
    alarmed: two,
  },
  {
    name: 'a lock that is deleted by hand',
    wishes: [[ab], [a], [b]],
    may: { erase: 1, cancel: 1 },
    alarmed: three,
  },
  {
    name: 'a session that is deleted by hand',
    wishes: [[a], [a]],
    may: { disown: 1, tick: 3, beat: 1 },
    alarmed: two,
  },
  { name: 'a new server', wishes: [[a], [a]], may: { restart: 1, tick: 2 }, alarmed: two },
  {
    name: 'a server that has come back older',
    wishes: [[a], [a]],
    may: { save: 1, rollback: 1, tick: 2 },
    alarmed: two,
  },
  {
    name: "a jump of the server's clock",
    wishes: [[a], [a]],
    may: { jump: 1, tick: 3, beat: 1 },
    alarmed: two,
  },
  {
    name: "two jumps of the server's clock",
    wishes: [[a], [a]],
    may: { jump: 2, tick: 1, beat: 1 },
    alarmed: two,
  },
  {
    name: 'readers and a writer',
    wishes: [[read('a')], [a], [read('a')]],
    may: { cancel: 1 },
    alarmed: three,
  },
  {
    name: 'readers and writers of overlapping sets',
    wishes: [[read('ab')], [b], [read('b'), ab]],
    may: {},
    alarmed: three,
  },
  {
    name: 'weights',
    wishes: [[take(2)], [take(2)], [take(1), take(1)]],
    may: { cancel: 1 },
    alarmed: three,
  },
  {
    name: 'readers whose leases end',
    wishes: [[read('a')], [a], [read('a')]],
    may: { tick: 3, crash: 1 },
    alarmed: three,
  },
  {
    name: 'readers and a loss of the state',
    wishes: [[read('a'), a], [read('a')]],
    may: { flush: 1, tick: 1 },
    alarmed: two,
  },
  {
    name: 'a reader that is removed by force',
    wishes: [[read('a')], [kept('a')], [read('a')]],
    may: { force: 1 },
    alarmed: three,
  },
];

test.each(setups)('no rule is broken: $name', { timeout }, (setup) => {
  const { violation, trace } = search(setup, { states, ends: 20 });
  expect({ violation, trace }).toEqual({ violation: undefined, trace: undefined });
});

/** The search, built from sources with the mutant. */
async function searchWith({ file, from, to }: Mutant): Promise<typeof search> {
  const path = files[file];
  const source = readFileSync(path, 'utf8');
  // The text to replace must occur exactly once.
  expect(source.split(from)).toHaveLength(2);
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../../tests/redis/model/search.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    plugins: [
      {
        name: 'mutant',
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path: loaded }) =>
            loaded === path
              ? { contents: source.replace(from, () => to), loader: 'ts' }
              : undefined,
          );
        },
      },
    ],
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  return (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)).search;
}

describe('detects a mutant that', () => {
  test.each(mutants)('$name', { timeout }, async (mutant) => {
    const setup = setups.find(({ name }) => name === mutant.setup) as Setup;
    const found = (await searchWith(mutant))(setup, { states: 200_000, ends: 5 });
    expect(found.violation).toMatch(mutant.finds);
  });
});
