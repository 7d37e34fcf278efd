/** Pointsman's bridge, with its defaults and without spinning. */
import type { ServedFunctions } from '../host/functions.js';
import type { BridgeSubject } from '../subject.js';
import { calls, payloadNames } from '../work.js';

type ExposeOptions = NonNullable<Parameters<typeof import('pointsman/bridge')['expose']>[2]>;

export default [
  subject(
    'pointsman',
    'With its defaults. Waits awake: both threads spin before they sleep, for about as long as a wake-up takes.',
    {},
  ),
  subject('pointsman, spin: false', 'Both threads sleep while they wait.', { spin: false }),
];

function subject(name: string, note: string, options: ExposeOptions): BridgeSubject {
  return {
    name,
    note,
    role: 'ours',
    package: 'pointsman',
    platforms: ['Chromium', 'Node', 'Node, into a worker'],
    does: [
      ...calls,
      'awaited',
      'async function',
      'in flight',
      'batch of 8',
      'source text',
      'frames',
      'idle',
      ...payloadNames,
    ],
    async serve({ functions, startWorker }) {
      const { expose } = await import('pointsman/bridge');
      const bridge = expose(startWorker().raw as Parameters<typeof expose>[0], functions, options);
      await bridge.ready;
      return undefined;
    },
    async connect() {
      const { connect } = await import('pointsman/bridge');
      const host = connect<ServedFunctions>();
      await host.ready;
      return {
        blocking: host,
        awaited: host.async,
        rectOfAsync: () => host.asyncRect(),
        batch: (calls) =>
          host.batch((recorded) => Array.from({ length: calls }, () => recorded.rect())),
      };
    },
    async callWorker() {
      const { connectSync } = await import('pointsman/bridge');
      const functions = connectSync<typeof import('./workers/functions.js')>(
        new URL('./workers/functions.js', import.meta.url),
        options,
      );
      return { blocking: functions, answered: () => functions.answered() };
    },
  };
}
