/** The faults of the limiter. In each, processes whose clocks are up to 20 s apart load four limiters beyond their limits. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy } from '../../servers/proxy.js';
import { startServer } from '../../servers/server.js';
import type { Fault } from '../fault.js';
import { LimiterTrial } from '../limiter/trial.js';
import { together } from '../outcome.js';
import { until } from '../patience.js';
import { between, oneOf } from '../random.js';
import type { Terms } from '../trial.js';
import { refusingServer, silentServer } from './decisions.js';

const processes = 4;

const none: Fault = {
  number: 'g1',
  name: 'none',
  how: '4 processes; clocks jump by up to 10 s',
  holds:
    'at least 98 % of a limit is used, 97 % with leases, unless the processes get too little CPU time',
  full: { ttl: 2_000, count: 30, trials: ['script', 'host'] },
  short: { ttl: 2_000, count: 7, trials: ['script', 'host'] },
  run: (terms) =>
    LimiterTrial.run(terms, async (trial) => {
      await trial.add(processes);
      await trial.work();
      for (let second = 0; second < terms.count; second += 1) {
        await sleep(1_000);
        const jump = Math.round(between([-10_000, 10_000]));
        await oneOf(trial.processes).call('setDate', jump);
        trial.count('jumps of a clock');
      }
      return trial.finish({ isUseJudged: true });
    }),
};

const clients: Fault = {
  number: 'g2',
  name: 'process killed or stopped',
  how: 'again and again, one of 4 processes is killed and replaced, or stopped for 0.05 to 2.5 ttl; with the store `host` it may be the serving one',
  holds: 'a dead process wastes only the starts of its lease',
  full: { ttl: 1_000, count: 40, trials: ['script', 'host', 'host'] },
  short: { ttl: 1_000, count: 4, trials: ['script', 'host'] },
  run: (terms) =>
    LimiterTrial.run(terms, async (trial) => {
      await trial.add(processes);
      await trial.work();
      for (let times = 0; times < terms.count; times += 1) {
        await sleep(between([0.1, 0.6]) * terms.ttl);
        const victim = oneOf(trial.processes);
        if (Math.random() < 0.5) {
          await trial.kill(victim);
          trial.count('kills');
          continue;
        }
        trial.note(`SIGSTOP ${victim.name}`);
        await victim.pause();
        await sleep(between([0.05, 2.5]) * terms.ttl);
        victim.resume();
        trial.note(`SIGCONT ${victim.name}`);
        trial.count('stops');
      }
      await sleep(terms.ttl);
      return trial.finish();
    }),
};

const stopped: Fault = {
  number: 'g3',
  name: 'server stopped',
  how: 'SIGSTOP of the server for 0.1 to 3 ttl, then SIGCONT',
  holds: 'every request is answered by its deadline',
  full: { ttl: 1_000, count: 15, trials: ['script', 'pure'] },
  short: { ttl: 1_000, count: 1, trials: ['script'] },
  run: (terms) =>
    LimiterTrial.run(terms, async (trial) => {
      await trial.add(processes);
      await trial.work();
      for (let times = 0; times < terms.count; times += 1) {
        await sleep(between([0.5, 1.5]) * terms.ttl);
        trial.note('SIGSTOP of the server');
        trial.server.pause();
        await sleep(between([0.1, 3]) * terms.ttl);
        trial.server.resume();
        trial.note('SIGCONT of the server');
        trial.count('stops of the server');
      }
      await sleep(terms.ttl);
      // Claims that are not renewed end.
      return trial.finish({ isConcurrencyJudged: false });
    }),
};

const aof = ['--appendonly', 'yes', '--appendfsync', 'always'];

function restarts(terms: Terms, keepData: boolean) {
  const body = async (trial: LimiterTrial) => {
    await trial.add(processes);
    await trial.work();
    for (let times = 0; times < terms.count; times += 1) {
      await sleep(between([1, 2]) * terms.ttl);
      const kind = keepData ? 'AOF always' : 'empty';
      trial.note(`kill -9 of the server, restart ${kind}`);
      await trial.server.kill();
      if (!keepData) trial.lost();
      await trial.server.restart({ keepData });
      trial.count(`restarts, ${kind}`);
    }
    await sleep(1.5 * terms.ttl);
    return trial.finish({ isConcurrencyJudged: false });
  };
  return LimiterTrial.run(terms, body, { args: keepData ? aof : [] });
}

const restarted: Fault = {
  number: 'g4',
  name: 'server restarted',
  how: 'kill -9 of the server and a restart with its data (AOF always) and without (one server each)',
  holds:
    'with data, no window is above its limit; without, the starts before the restart and those after it each keep the limit',
  full: { ttl: 1_000, count: 12, trials: ['script', 'pure'] },
  short: { ttl: 1_000, count: 1, trials: ['script'] },
  run: async (terms) =>
    together(await Promise.all([restarts(terms, true), restarts(terms, false)])),
};

const withoutDelay = ['--repl-diskless-sync-delay', '0'];

function failOvers(terms: Terms, lagging: boolean) {
  const body = async (trial: LimiterTrial) => {
    await trial.add(processes);
    await trial.work();
    for (let times = 0; times < terms.count; times += 1) {
      const primary = trial.server;
      // The replica reads through a proxy, which makes it lag.
      const stream = await startProxy(primary.port);
      const source = lagging ? stream.port : primary.port;
      const args = ['--replicaof', `127.0.0.1 ${source}`, ...withoutDelay];
      const replica = await startServer({ args });
      const described = async () => String(await replica.command('INFO', 'replication'));
      await until(async () => (await described()).includes('master_link_status:up'));
      await sleep(between([1, 2]) * terms.ttl);
      if (lagging) {
        stream.holdReplies();
        await sleep(between([0, 0.5]) * terms.ttl);
        await primary.kill();
        trial.lost();
        await replica.command('REPLICAOF', 'NO', 'ONE');
      } else {
        await primary.command('FAILOVER', 'TO', '127.0.0.1', replica.port);
        await until(async () => (await described()).includes('role:master'));
      }
      trial.moveTo(replica);
      trial.note(`the processes are led to the ${lagging ? 'lagging' : 'promoted'} replica`);
      trial.count(lagging ? 'lagging fail-overs' : 'planned fail-overs');
      await primary.kill();
      await stream.stop();
    }
    await sleep(1.5 * terms.ttl);
    return trial.finish({ isConcurrencyJudged: false });
  };
  return LimiterTrial.run(terms, body, { args: withoutDelay });
}

const failedOver: Fault = {
  number: 'g5',
  name: 'fail-over',
  how: 'a replica is promoted and the processes reconnect to it: once planned (FAILOVER), once with kill -9 of the primary while the replica lags up to 0.5 ttl behind (one pair of servers each)',
  holds:
    'planned: no window is above its limit; lagging: the starts before the fail-over and those after it each keep the limit',
  full: { ttl: 1_000, count: 10, trials: ['script', 'pure'] },
  short: { ttl: 1_000, count: 1, trials: ['script'] },
  run: async (terms) =>
    together(await Promise.all([failOvers(terms, false), failOvers(terms, true)])),
};

export const limiterMatrix: readonly Fault[] = [
  none,
  clients,
  stopped,
  restarted,
  failedOver,
  silentServer,
  refusingServer,
];
