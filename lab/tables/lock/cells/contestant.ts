/** A subject that does one of the document's tests, in this process or in a program of its own. */

import { connectIoredis } from '../../../harness/redis-clients.js';
import { announcedAddress } from '../../../harness/redis-server.js';
import type { Lab, Measurement, Samples } from '../../../harness/table.js';
import type { LockClient, Test } from '../subject.js';
import { foreignSubjects, lockSubjectNamed } from '../subjects/index.js';
import { checkExclusion } from '../workloads/check-exclusion.js';
import { drawFrom, type KeySet, keySetNamed } from '../workloads/keys.js';
import { takeTurns } from '../workloads/take-turns.js';
import { commandsPerTurn, writeAndRead } from '../workloads/write-and-read.js';
import { costOf } from './cost.js';
import { type OnServer, withClient } from './on-server.js';

export interface Contestant {
  /** Checks exclusion with turns that last a round trip, so that a turn that begins too early is always detected. */
  check(): Promise<void>;
  /** Does the test once, or for about this time. The measures begin with the name of the key set. */
  run(keySet: KeySet, milliseconds: number): Promise<Samples>;
}

/** The number of locks of test 1. */
const turnsOfTest1 = 1_000;

export async function withContestant(
  name: string,
  test: Test,
  work: (contestant: Contestant) => Promise<Measurement>,
): Promise<Measurement> {
  const foreign = foreignSubjects.find((subject) => subject.name === name);
  if (!foreign) {
    return withClient(lockSubjectNamed(name), async (found) => {
      const check = () =>
        checkExclusion(found.client, found.control, draw(found, keySetNamed('3/5'), 'check'));
      if (test === 'test-1') {
        return work({ check, run: (keySet) => runTest1(found, keySet) });
      }
      const shared = await connectIoredis(found.address);
      const run = (keySet: KeySet, milliseconds: number) =>
        runTest2({ ...found, shared }, keySet, milliseconds);
      try {
        return await work({ check, run });
      } finally {
        shared.disconnect();
      }
    });
  }
  const lacking = foreign.whatIsLacking();
  if (lacking !== undefined) return { ok: false, note: lacking, samples: {}, unavailable: true };
  const program = foreign.start(test, announcedAddress(), `lab-${process.pid}`);
  try {
    return await work({
      // Its program watches every turn.
      check: async () => {},
      run: (keySet, milliseconds) => program.run(keySet, milliseconds),
    });
  } finally {
    program.end();
  }
}

type WithClient = OnServer & { readonly client: LockClient };

async function runTest1({ client, control, ...found }: WithClient, keySet: KeySet) {
  const keys = draw(found, keySet, 'test-1');
  const [taken, cost] = await costOf(control, () => takeTurns(client, keys, turnsOfTest1));
  const { user, system, executed } = cost;
  return samplesOf(keySet, {
    ...taken,
    ...{ user, system, total: user + system },
    'processor time': ((user + system) * 1e6) / turnsOfTest1,
    executed: executed / turnsOfTest1,
  });
}

async function runTest2(
  found: WithClient & { readonly shared: Awaited<ReturnType<typeof connectIoredis>> },
  keySet: KeySet,
  milliseconds: number,
) {
  const { client, control, namespace, shared } = found;
  const keys = draw(found, keySet, 'test-2');
  const [{ turns, ...written }, cost] = await costOf(control, () =>
    writeAndRead(client, shared, keys, { key: `${namespace}:value`, milliseconds }),
  );
  const perTurn = (value: number) => value / turns;
  return samplesOf(keySet, {
    ...written,
    // The processor time of as many turns as in 5 s.
    user: perTurn(cost.user) * written.count,
    system: perTurn(cost.system) * written.count,
    total: perTurn(cost.user + cost.system) * written.count,
    'processor time': perTurn(cost.user + cost.system) * 1e6,
    executed: perTurn(cost.executed) - commandsPerTurn,
  });
}

const figures = [
  ...['seconds', 'count', 'p99', 'longest', 'fairness', 'executed'],
  ...['user', 'system', 'total'],
];

/** Whether the run needs a figure of this key set. */
export function isWanted({ name }: KeySet, lab: Lab): boolean {
  return figures.some((figure) => lab.isWanted(`${name} ${figure}`));
}

function draw({ namespace }: Pick<OnServer, 'namespace'>, keySet: KeySet, work: string) {
  return drawFrom(keySet, `${namespace}:${work}:${keySet.name}`);
}

function samplesOf({ name }: KeySet, found: Samples): Samples {
  return Object.fromEntries(
    Object.entries(found).map(([figure, value]) => [`${name} ${figure}`, value]),
  );
}
