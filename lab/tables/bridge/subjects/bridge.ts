/** The code that our subjects share: Pointsman's bridge, each with its own options. */
import type { HostFunctions, Rect } from '../host/functions.js';
import type { BridgeSubject } from '../subject.js';
import type { Work } from '../work.js';

interface Served extends HostFunctions {
  asyncRect(): Promise<Rect>;
}

type ExposeOptions = NonNullable<Parameters<typeof import('pointsman/bridge')['expose']>[2]>;

export function bridgeSubject({
  options = {},
  ...described
}: {
  readonly name: string;
  readonly note: string;
  readonly does: readonly Work[];
  readonly options?: ExposeOptions;
}): BridgeSubject {
  return {
    ...described,
    role: 'ours',
    package: 'pointsman',
    platforms: ['Chromium', 'Node'],
    async serve({ functions, startWorker }) {
      const { expose } = await import('pointsman/bridge');
      const worker = startWorker().raw as Parameters<typeof expose>[0];
      const served: Served = { ...functions, asyncRect: async () => functions.rect() };
      const bridge = expose(worker, served, options);
      await bridge.ready;
      return undefined;
    },
    async connect() {
      const { connect } = await import('pointsman/bridge');
      const host = connect<Served>();
      await host.ready;
      return {
        blocking: host,
        awaited: host.async,
        rectOfAsync: () => host.asyncRect(),
        batch: (calls) =>
          host.batch((recorded) => Array.from({ length: calls }, () => recorded.rect())),
      };
    },
  };
}
