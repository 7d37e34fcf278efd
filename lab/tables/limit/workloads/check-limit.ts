/**
 * Two clients, as two processes have them, ask in turn. Together they get exactly the limit: a subject that counts
 * each of them alone allows more, and one that loses starts allows less.
 */
import type { Address } from '../../../harness/redis-server.js';
import type { LimitSubject } from '../subject.js';

const limit = 5;
const requests = 20;
/** A window that ends between two requests allows more, so a subject has another attempt. */
const attempts = 3;

export async function checkLimit(
  subject: LimitSubject,
  address: Address,
  namespace: string,
): Promise<void> {
  const rule = { limit, per: 10_000 };
  const connect = () => subject.connect(address, `${namespace}:check`, rule);
  const clients = [await connect(), await connect()];
  let allowed = 0;
  for (let attempt = 0; attempt < attempts && allowed !== limit; attempt++) {
    allowed = 0;
    for (let request = 0; request < requests; request++) {
      if (await clients[request % clients.length]?.decide(`check ${attempt}`)) allowed++;
    }
  }
  for (const client of clients) await client.close();
  if (allowed !== limit)
    throw new Error(`allowed ${allowed} of ${requests}, with a limit of ${limit}`);
}
