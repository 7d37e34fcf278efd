/**
 * A cron job in several processes or hosts, which survives the death of any of them. It fetches exchange rates and
 * stores them in Redis, in exactly one process per tick; the others see that it is done. To try it, with a Redis on this
 * machine and any URL that answers with text, in two terminals:
 *
 *     npm run build
 *     SCHEDULE='0-59/10 * * * * *' RATES_URL=http://localhost:8080/rates npm start
 *
 * Then end the working process with `kill -9`: within five seconds, the `ttl` of its lock, the other takes over.
 */
import { Cron } from 'croner';
import { Redis } from 'ioredis';
import { fencedSet, redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';

const { REDIS_URL = 'redis://localhost', RATES_URL, SCHEDULE = '0 * * * *' } = process.env;
if (!RATES_URL) throw new Error('RATES_URL must say where to fetch the rates');

const client = new Redis(REDIS_URL);
const mutex = new SharedMutex(redis(client, { namespace: 'rates-cron' }));
const stopping = new AbortController();

async function refresh(due: string): Promise<void> {
  // A process that hangs in the work loses the lock after a minute.
  const options = { signal: stopping.signal, maxHold: 60_000 };
  await using guard = await mutex.lock('rates', options);

  const last = await client.hget('rates', 'value');
  if (last !== null && JSON.parse(last).due >= due) return; // another process has done it

  const response = await fetch(`${RATES_URL}?at=${due}`, {
    headers: { 'user-agent': `rates-cron/${process.pid}` },
    signal: guard.signal, // stops the work when the lock is lost
  });
  if (!response.ok) throw new Error(`${RATES_URL} answered ${response.status}`);
  const rates = await response.text();

  // Refuses a process that was paused and has not noticed that it lost the lock.
  const stored = await fencedSet(client, 'rates', JSON.stringify({ due, rates }), guard);
  console.log(`${due}: ${stored ? 'stored' : 'refused'}, token ${guard.token}`);
}

let running: Promise<void> | undefined;
const job = new Cron(SCHEDULE, { protect: true }, (self) => {
  // The scheduled time identifies the tick in all processes, however late each of them runs.
  const [due] = self.previousRuns(1, new Date(Date.now() + 1));
  if (!due) return;
  running = refresh(due.toISOString()).catch((error) => {
    if (error !== stopping.signal.reason) console.error(`${due.toISOString()}: ${error}`);
  });
  return running;
});
console.log(`${process.pid} runs ${SCHEDULE}`);

// Finishes the running work, and waits for no lock any more.
process.once('SIGTERM', async () => {
  job.stop();
  stopping.abort();
  await running;
  await mutex.shutdown();
  client.disconnect();
});
