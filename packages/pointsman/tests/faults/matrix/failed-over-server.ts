import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy } from '../../servers/proxy.js';
import { startServer } from '../../servers/server.js';
import type { Fault } from '../fault.js';
import { together } from '../outcome.js';
import { until } from '../patience.js';
import { between } from '../random.js';
import { type Terms, Trial } from '../trial.js';

export const failedOverServer: Fault = {
  number: '10',
  name: 'fail-over',
  how: 'a replica is promoted and the clients reconnect to it: once planned (FAILOVER), once with kill -9 of the primary while the replica lags up to 0.3 ttl behind (one pair of servers each)',
  holds: 'as always, although a lagging replica does not know what was granted last',
  full: { ttl: 1_000, count: 15, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 2, trials: ['script'] },
  run: async (terms) =>
    together(await Promise.all([failOvers(terms, false), failOvers(terms, true)])),
};

const withoutDelay = ['--repl-diskless-sync-delay', '0'];

function failOvers(terms: Terms, lagging: boolean) {
  const body = async (trial: Trial) => {
    await trial.addClients(3, { proxied: true });
    await trial.work({
      tasks: 6,
      groups: 6,
      think: [0, 5],
      hold: [0, 30],
      long: { share: 0.1, hold: [terms.ttl / 2, 1.5 * terms.ttl] },
    });
    for (let failOver = 0; failOver < terms.count; failOver += 1) {
      const primary = trial.server;
      // The replica reads through a proxy, which makes it lag.
      const stream = await startProxy(primary.port);
      const source = lagging ? stream.port : primary.port;
      const replica = await startServer({
        args: ['--replicaof', `127.0.0.1 ${source}`, ...withoutDelay],
      });
      const described = async () => String(await replica.command('INFO', 'replication'));
      await until(async () => (await described()).includes('master_link_status:up'));
      await sleep(between([0.3, 1]) * terms.ttl);
      if (lagging) {
        stream.holdReplies();
        await sleep(between([0, 0.3]) * terms.ttl);
        trial.note('kill -9 of the primary');
        await primary.kill();
        await replica.command('REPLICAOF', 'NO', 'ONE');
      } else {
        trial.note('FAILOVER');
        await primary.command('FAILOVER', 'TO', '127.0.0.1', replica.port);
        await until(async () => (await described()).includes('role:master'));
      }
      trial.moveTo(replica);
      trial.note(`the clients are led to the ${lagging ? 'lagging' : 'promoted'} replica`);
      trial.count(lagging ? 'lagging fail-overs' : 'planned fail-overs');
      await primary.kill();
      await stream.stop();
    }
    await sleep(1.5 * terms.ttl);
    await trial.finish();
    // The replica does not know what the primary granted and it had not read.
    return trial.outcome(lagging ? ['forgotten'] : []);
  };
  return Trial.run(terms, body, { args: withoutDelay });
}
