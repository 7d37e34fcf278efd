/** Runs a subject on the run's server, which is empty at the beginning of a cell. */
import type { Redis } from 'ioredis';
import { type Address, announcedAddress } from '../../../harness/redis-server.js';
import type { LockClient, LockSubject } from '../subject.js';
import { connectIoredis } from '../subjects/clients.js';

export interface OnServer {
  readonly address: Address;
  /** A connection of the cell's own. */
  readonly control: Redis;
}

export async function onServer<Result>(
  work: (found: OnServer) => Promise<Result>,
): Promise<Result> {
  const address = announcedAddress();
  const control = await connectIoredis(address);
  try {
    await control.flushall();
    return await work({ address, control });
  } finally {
    control.disconnect();
  }
}

export async function withClient<Result>(
  subject: LockSubject,
  work: (found: OnServer & { readonly client: LockClient }) => Promise<Result>,
): Promise<Result> {
  return onServer(async ({ address, control }) => {
    const client = await subject.connect(address);
    const result = await work({ address, control, client });
    await client.close();
    return result;
  });
}
