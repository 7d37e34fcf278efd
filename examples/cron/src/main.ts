/**
 * A cron job that runs in several processes or hosts, so that it goes on when one of them dies. It fetches exchange
 * rates and stores them in Redis. For each tick exactly one process does so; the others see that it is done. To try it,
 * with a Redis on this machine and any URL that answers with text, in two terminals:
 *
 *     npm run build
 *     SCHEDULE='0-59/10 * * * * *' RATES_URL=http://localhost:8080/rates npm start
 *
 * Then end the one that works by `kill -9`: within five seconds, the `ttl` of its lock, the other goes on.
 */
import { Cron } from 'croner';
import { Redis } from 'ioredis';
import { fencedSet, RedisMutex } from 'pointsman/redis';

const { REDIS_URL = 'redis://localhost', RATES_URL, SCHEDULE = '0 * * * *' } = process.env;
if (!RATES_URL) throw new Error('RATES_URL must say where to fetch the rates');

const client = new Redis(REDIS_URL);
const mutex = new RedisMutex(client, { namespace: 'rates-cron' });
const stopping = new AbortController();

async function refresh(due: string): Promise<void> {
  // Whoever hangs in the work loses the lock after a minute.
  const options = { signal: stopping.signal, maxHold: 60_000 };
  await using guard = await mutex.lock('rates', options);

  const last = await client.hget('rates', 'value');
  if (last !== null && JSON.parse(last).due >= due) return; // somebody has done it already

  const response = await fetch(`${RATES_URL}?at=${due}`, {
    headers: { 'user-agent': `rates-cron/${process.pid}` },
    signal: guard.signal, // stops the work when the lock is lost
  });
  if (!response.ok) throw new Error(`${RATES_URL} answered ${response.status}`);
  const rates = await response.text();

  // A process that stood still and has not noticed that its lock went on to another is refused here.
  const stored = await fencedSet(client, 'rates', JSON.stringify({ due, rates }), guard);
  console.log(`${due}: ${stored ? 'stored' : 'refused'}, token ${guard.token}`);
}

let running: Promise<void> | undefined;
const job = new Cron(SCHEDULE, { protect: true }, (self) => {
  // The tick by its time on the schedule, by which all processes call it, however late each of them is.
  const [due] = self.previousRuns(1, new Date(Date.now() + 1));
  if (!due) return;
  running = refresh(due.toISOString()).catch((error) => {
    if (error !== stopping.signal.reason) console.error(`${due.toISOString()}: ${error}`);
  });
  return running;
});
console.log(`${process.pid} runs ${SCHEDULE}`);

// Lets the work come to its end, but waits for no lock any more.
process.once('SIGTERM', async () => {
  job.stop();
  stopping.abort();
  await running;
  await mutex.shutdown();
  client.disconnect();
});
