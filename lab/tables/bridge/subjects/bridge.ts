/** What our subjects share: the bridge of pointsman, with the options that each is about. */
import type { HostFunctions } from '../host/functions.js';
import type { BridgeSubject } from '../subject.js';
import type { Work } from '../work.js';

type Bridge = typeof import('pointsman/bridge');
type ConnectOptions = NonNullable<Parameters<Bridge['connect']>[0]>;
type ExposeOptions = NonNullable<Parameters<Bridge['expose']>[2]>;

export function bridgeSubject({
  onBothSides = async () => ({}),
  onHost = {},
  ...described
}: {
  readonly name: string;
  readonly note: string;
  readonly does: readonly Work[];
  readonly onBothSides?: () => Promise<ConnectOptions & ExposeOptions>;
  readonly onHost?: ExposeOptions;
}): BridgeSubject {
  return {
    ...described,
    role: 'ours',
    package: 'pointsman',
    platforms: ['Chromium', 'Node'],
    async serve({ functions, startWorker }) {
      const { expose } = await import('pointsman/bridge');
      const worker = startWorker().raw as Parameters<typeof expose>[0];
      const bridge = expose(worker, functions, { ...(await onBothSides()), ...onHost });
      await bridge.ready;
      return undefined;
    },
    async connect() {
      const { connect } = await import('pointsman/bridge');
      const host = connect<HostFunctions>(await onBothSides());
      await host.ready;
      return {
        blocking: host,
        awaited: host.async,
        batch: (calls) =>
          host.batch((recorded) => Array.from({ length: calls }, () => recorded.rect())),
      };
    },
  };
}
