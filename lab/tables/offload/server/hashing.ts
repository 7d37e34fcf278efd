/** The ways in which the document's route can hash a password, by the subject's name. */
import { availableParallelism } from 'node:os';
import type { Subject } from '../../../harness/table.js';
import { poolNamed } from '../subjects/index.js';

export type Hash = () => string | PromiseLike<unknown>;

/** The document's two, and a library with threads of its own. */
export const sync: Subject = {
  name: 'bcrypt.hashSync',
  role: 'peer',
  package: 'bcrypt',
  note: "The document's sync.",
};
export const async: Subject = {
  name: 'bcrypt.hash',
  role: 'peer',
  package: 'bcrypt',
  note: "The document's async: four threads of libuv.",
};
export const native: Subject = {
  name: '@node-rs/bcrypt',
  role: 'peer',
  package: '@node-rs/bcrypt',
  note: 'Another implementation, in Rust; its hash is asynchronous.',
};

export const hashBytes = 60;
const password = 'secret';

const withoutPool: Readonly<Record<string, (cost: number) => Promise<Hash>>> = {
  async [sync.name](cost) {
    const { default: bcrypt } = await import('bcrypt');
    return () => bcrypt.hashSync(password, cost);
  },
  async [async.name](cost) {
    const { default: bcrypt } = await import('bcrypt');
    return () => bcrypt.hash(password, cost);
  },
  async [native.name](cost) {
    const { hash } = await import('@node-rs/bcrypt');
    return () => hash(password, { cost });
  },
};

export async function hashOf(name: string, cost: number): Promise<Hash> {
  const open = withoutPool[name];
  if (open) return open(cost);
  const pool = await poolNamed(name).open({ threads: availableParallelism() });
  return () => pool.run('hash', cost);
}

export async function isHash(text: string): Promise<boolean> {
  const { default: bcrypt } = await import('bcrypt');
  return bcrypt.compareSync(password, text);
}
