/**
 * Logs what passes between the limiters of a process and the store. Only the reply has the exact moment of a start, so
 * this reads the inside of a store, where batches are sent.
 */
import { now } from '../history.js';
import type { LogWriter } from './log.js';

interface Group {
  readonly limiter: string;
  readonly weights: readonly number[];
}

interface Operation {
  readonly name: string;
  readonly groups?: readonly Group[];
  readonly time?: number;
  readonly look?: boolean;
  /** Of a correction. */
  readonly at?: readonly number[];
}

interface Result {
  readonly name: string;
  readonly granted?: boolean;
  readonly delay: number;
  readonly at: readonly number[];
  readonly count: number;
}

interface Reply {
  readonly name: string;
  readonly results: readonly Result[];
}

interface LinkInside {
  exchange(batch: { readonly operations: readonly Operation[] }): Promise<Reply>;
}

export interface StoreInside {
  connect(observer: unknown): LinkInside;
}

export function tap(store: StoreInside, log: LogWriter): void {
  const connect = store.connect.bind(store);
  store.connect = (observer) => {
    const link = connect(observer);
    const exchange = link.exchange.bind(link);
    link.exchange = async (batch) => {
      const sent = now();
      const corrections = batch.operations.filter(({ name }) => name === 'correct');
      const groupsOf = ({ groups = [] }: Operation, at: readonly number[] = []) =>
        groups.map(({ limiter, weights }, i) => ({ limiter, weights, at: at[i] ?? 0 }));
      // It may have an effect although there is no reply.
      for (const each of corrections) {
        log.write({ kind: 'correction', sent, groups: groupsOf(each, each.at) });
      }
      const reply = await exchange(batch);
      const received = now();
      for (const each of corrections) {
        log.write({ kind: 'correction', sent, received, groups: groupsOf(each, each.at) });
      }
      for (const [i, operation] of batch.operations.entries()) {
        const result = reply.results?.[i];
        if (operation.name !== 'start' || operation.look || !result?.granted) continue;
        const { delay, count, at } = result;
        const time = count > 1 ? (operation.time ?? 0) : 0;
        const groups = groupsOf(operation, at);
        log.write({ kind: 'grant', sent, received, delay, time, count, groups });
      }
      return reply;
    };
    return link;
  };
}
