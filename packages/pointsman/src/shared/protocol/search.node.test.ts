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
import { search } from '../../../tests/redis/model/search.js';
import type { Setup } from '../../../tests/redis/model/world.js';

const states = Number(process.env.POINTSMAN_SEARCH ?? 20_000);
const timeout = 20_000 + states;

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

const model = new URL('../../../tests/redis/model/', import.meta.url);
/** The files that mutants change. */
const files = {
  apply: fileURLToPath(new URL('apply.ts', import.meta.url)),
  state: fileURLToPath(new URL('state.ts', import.meta.url)),
  client: fileURLToPath(new URL('client.ts', model)),
};

interface Mutant {
  readonly name: string;
  readonly file: keyof typeof files;
  readonly from: string;
  readonly to: string;
  /** The setup in which it is detected, and the broken rule. */
  readonly setup: string;
  readonly finds: RegExp;
}

const mutants: Mutant[] = [
  {
    name: 'accepts batches of older connections',
    file: 'apply',
    from: 'if (known !== undefined && incarnation < known.incarnation)',
    to: 'if (false)',
    setup: 'lost connections for commands',
    finds: /waits forever/,
  },
  {
    name: 'begins a session that must exist',
    file: 'apply',
    from: "if (join === 'must' && !this.#isLive(session))",
    to: 'if (false)',
    setup: 'a lease in doubt',
    finds: /both hold a/,
  },
  {
    name: 'grants a request before earlier waiters',
    file: 'apply',
    from: '&& !this.#contended(keys)',
    to: '',
    setup: 'overlapping sets',
    finds: /has passed/,
  },
  {
    name: 'serves the last waiter first',
    file: 'state',
    from: '+a[1].order - +b[1].order',
    to: '+b[1].order - +a[1].order',
    setup: 'overlapping sets',
    finds: /has passed|keys that are free/,
  },
  {
    name: 'serves only the waiters of the first freed key',
    file: 'apply',
    from: 'locks.delete(key);\n    }\n    this.#freed.push(...keys);',
    to: 'locks.delete(key);\n    }\n    this.#freed.push(...keys.slice(0, 1));',
    setup: 'overlapping sets',
    finds: /keys that are free/,
  },
  {
    name: 'serves no waiter after a request is cancelled',
    file: 'apply',
    from: 'if (request.condition === undefined) this.#freed.push(...request.keys);',
    to: '',
    setup: 'overlapping sets',
    finds: /keys that are free/,
  },
  {
    name: 'keeps the requests of ended sessions',
    file: 'apply',
    from: 'for (const id of sorted(requests)) if (sessionOf(id) === session) this.#remove(id);',
    to: '',
    setup: 'a process that falls silent',
    finds: /session has ended/,
  },
  {
    name: 'keeps the locks of ended sessions',
    file: 'apply',
    from: 'this.#free(id, [key]);',
    to: '',
    setup: 'leases that end',
    finds: /which has ended/,
  },
  {
    name: 'issues a token twice',
    file: 'apply',
    from: 'this.#clock.token + 1, this.#world.now',
    to: 'this.#clock.token, this.#world.now',
    setup: 'overlapping sets',
    finds: /token/,
  },
  {
    name: 'grants at once after a loss of the state',
    file: 'apply',
    from: 'this.#state.guard = this.#latest + ttl;',
    to: '',
    setup: 'a loss of the state',
    finds: /both hold/,
  },
  {
    name: 'treats a session without a record as expired',
    file: 'apply',
    from: 'this.#keepGuard();\n        // The guard may be shorter',
    to: '// The guard may be shorter',
    setup: 'a session that is deleted by hand',
    finds: /both hold/,
  },
  {
    name: 'does not serve the queue of a key without a holder',
    file: 'apply',
    from: 'this.#freed.push(...keys.filter((key) => !locks.has(key)));',
    to: '',
    setup: 'a lock that is deleted by hand',
    finds: /waits forever/,
  },
  {
    name: 'grants at once after a start of the server',
    file: 'apply',
    from: '|| this.#world.uptime < ttl',
    to: '',
    setup: 'a new server',
    finds: /both hold/,
  },
  {
    name: 'continues with the state of an earlier run',
    file: 'apply',
    from: 'clock.run !== this.#world.run) this.#keepGuard();',
    to: 'clock.run !== this.#world.run);',
    setup: 'a server that has come back older',
    finds: /both hold/,
  },
  {
    name: "uses the server's clock as the time",
    file: 'apply',
    from: 'Math.max(time - clock.time, 0)',
    to: 'passed',
    setup: "a jump of the server's clock",
    finds: /both hold/,
  },
  {
    name: 'ends all leases at the first jump',
    file: 'apply',
    from: 'if (clock.doubted) step = passed;',
    to: 'step = passed;',
    setup: "a jump of the server's clock",
    finds: /both hold/,
  },
  {
    name: 'ignores batches sent since a jump',
    file: 'apply',
    from: 'if (established) clock.doubted = false;',
    to: '',
    setup: "two jumps of the server's clock",
    finds: /both hold/,
  },
  {
    name: 'begins leases before time that may be counted later',
    file: 'apply',
    from: 'this.#latest = clock.time + rest;',
    to: 'this.#latest = clock.time;',
    setup: 'a process that joins late',
    finds: /both hold/,
  },
  {
    name: 'counts its lease from the reply',
    file: 'client',
    from: 'sent.at + reply.left',
    to: 'now + reply.left',
    setup: 'leases that end',
    finds: /both hold/,
  },
  {
    name: 'holds a lock while it could miss a loss',
    file: 'client',
    from: 'if (heard === 0 || heard !== this.heard)',
    to: 'if (false)',
    setup: 'a loss before the first grant',
    finds: /in doubt/,
  },
  {
    name: 'accepts a grant from before it subscribed to losses',
    file: 'client',
    from: 'this.#grant(result.grant, sent.heard, now)',
    to: '((this.confirmed = this.heard), this.#grant(result.grant, this.heard, now))',
    setup: 'a loss before the first grant',
    finds: /both hold/,
  },
  {
    name: 'considers its locks valid while it could miss a loss',
    file: 'client',
    from: '&& this.confirmed !== 0 && this.confirmed === this.heard',
    to: '',
    setup: 'a loss that is not heard of',
    finds: /both hold/,
  },
  {
    name: 'considers its locks valid before the server has confirmed them',
    file: 'client',
    from: '&& this.confirmed !== 0 && this.confirmed === this.heard',
    to: '&& this.heard !== 0',
    setup: 'a loss that is not heard of',
    finds: /both hold/,
  },
  {
    name: 'accepts a grant that was taken by force',
    file: 'client',
    from: 'if (grant.token <= claim.taken)',
    to: 'if (false)',
    setup: 'a lock that is taken by force',
    finds: /both hold/,
  },
  {
    name: 'serves no waiter after a lock is taken by force',
    file: 'apply',
    from: 'this.#free(id, taken);',
    to: 'for (const key of taken) this.#state.locks.delete(key);',
    setup: 'a lock that is taken by force',
    finds: /keys that are free/,
  },
  {
    name: 'relies on messages',
    file: 'client',
    from: "[{ name: 'renew' }, ...this.#locks(), ...this.#checks()]",
    to: "[{ name: 'renew' }, ...this.#checks()]",
    setup: 'lost messages',
    finds: /waits forever/,
  },
  {
    name: 'lets readers pass a writer',
    file: 'apply',
    from: '&& !this.#contended(keys)',
    to: '&& (share !== undefined || !this.#contended(keys))',
    setup: 'readers and a writer',
    finds: /has passed/,
  },
  {
    name: 'serves one of several readers',
    file: 'apply',
    from: 'if (request.share === undefined) break;',
    to: 'break;',
    setup: 'weights',
    finds: /keys that are free/,
  },
  {
    name: 'counts only the requested weight',
    file: 'apply',
    from: 'holds.reduce((sum, { weight }) => sum + weight, share.weight)',
    to: 'share.weight',
    setup: 'weights',
    finds: /both hold/,
  },
  {
    name: 'frees a key when the first of its readers leaves',
    file: 'apply',
    from: 'if (others.length > 0) shares.set(key, others);',
    to: 'if (false);',
    setup: 'readers and a writer',
    finds: /both hold/,
  },
];

/** The search, built from sources with the mutant. */
async function searchWith({ file, from, to }: Mutant): Promise<typeof search> {
  const path = files[file];
  const source = readFileSync(path, 'utf8');
  // The text to replace must occur exactly once.
  expect(source.split(from)).toHaveLength(2);
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('search.ts', model))],
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
  test.each(mutants)('$name', { timeout: 60_000 }, async (mutant) => {
    const setup = setups.find(({ name }) => name === mutant.setup) as Setup;
    const found = (await searchWith(mutant))(setup, { states: 200_000, ends: 5 });
    expect(found.violation).toMatch(mutant.finds);
  });
});
