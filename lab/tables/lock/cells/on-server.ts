/**
 * A client of a subject on the run's server. Invariant: processes that are alive on the server at the same time have no
 * key in common, so the server is never emptied.
 */
import type { Redis } from 'ioredis';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { type Address, announcedAddress } from '../../../harness/redis-server.js';
import type { LockClient, LockSubject } from '../subject.js';

export interface OnServer {
  readonly address: Address;
  /** The prefix of this process's keys. */
  readonly namespace: string;
  /** A connection of the cell's own. */
  readonly control: Redis;
}

export async function onServer<Result>(
  work: (found: OnServer) => Promise<Result>,
): Promise<Result> {
  const address = announcedAddress();
  const control = await connectIoredis(address);
  try {
    return await work({ address, namespace: `lab-${process.pid}`, control });
  } finally {
    control.disconnect();
  }
}

export async function withClient<Result>(
  subject: LockSubject,
  work: (found: OnServer & { readonly client: LockClient }) => Promise<Result>,
): Promise<Result> {
  return onServer(async (found) => {
    const client = await subject.connect(found.address, found.namespace);
    const result = await work({ ...found, client });
    await client.close();
    return result;
  });
}
