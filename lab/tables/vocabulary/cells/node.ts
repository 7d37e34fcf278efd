/** The cells that time a subject in a process of its own: their subjects and workloads. */
import { keepsContext, lostContext } from '../../../harness/context.js';
import type {
  BroadcastForm,
  KeyedForm,
  LimiterForm,
  MapForm,
  Rule,
  SelectForm,
  VocabularySubject,
  WatchForm,
} from '../subject.js';
import { broadcast, watched } from '../workloads/broadcast.js';
import { type AnyChannel, burst, iterated, passed } from '../workloads/channel.js';
import { exceedsAtEdge, keyed, queued } from '../workloads/limiter.js';
import { mapped } from '../workloads/map.js';
import {
  type AnyRwLock,
  aloneReading,
  aloneWriting,
  starves,
  takingTurns,
} from '../workloads/rw-lock.js';
import { checkSelect, ready, waited } from '../workloads/select.js';
import { type InProcess, inProcessCell } from './in-process.js';

type ChannelPart = 'pass' | 'burst' | 'iterate';

/** Returns the channel of a subject, if it supports this capacity and this operation. */
function channelOf(capacity: number, part: ChannelPart) {
  return ({ channel, channelLoops: loops }: VocabularySubject): AnyChannel | undefined => {
    if (loops?.capacities.includes(capacity) && loops[part]) return { loops };
    if (!channel?.capacities.includes(capacity)) return undefined;
    const { send, push, receive, iterate, close } = channel;
    const needed = {
      pass: [send, receive],
      burst: [push, receive],
      iterate: [send, iterate, close],
    }[part];
    return needed.every((member) => member !== undefined) ? { calls: channel } : undefined;
  };
}

export const rendezvousCell = inProcessCell<AnyChannel>({
  id: 'rendezvous',
  form: channelOf(0, 'pass'),
  workloads: { oneToOne: passed(0, 1, 1) },
});

export const bufferedCell = inProcessCell<AnyChannel>({
  id: 'buffered',
  form: channelOf(100, 'pass'),
  workloads: { oneToOne: passed(100, 1, 1) },
});

export const manyToManyCell = inProcessCell<AnyChannel>({
  id: 'many-to-many',
  form: channelOf(10, 'pass'),
  workloads: { tenToTen: passed(10, 10, 10) },
});

export const burstCell = inProcessCell<AnyChannel>({
  id: 'burst',
  form: channelOf(Number.POSITIVE_INFINITY, 'burst'),
  workloads: { burst },
});

export const iteratedCell = inProcessCell<AnyChannel>({
  id: 'iterated',
  form: channelOf(100, 'iterate'),
  workloads: { iterated: iterated(100) },
});

export const broadcastCell = inProcessCell<BroadcastForm>({
  id: 'broadcast',
  form: ({ broadcast }) => broadcast,
  workloads: { broadcast },
});

export const watchCell = inProcessCell<WatchForm>({
  id: 'watch',
  form: ({ watch }) => watch,
  workloads: { watched },
});

export const rwLockCell = inProcessCell<AnyRwLock>({
  id: 'rw-lock',
  form: ({ rwLock: permits, rwLockRun: run }) => {
    if (permits) return { permits };
    return run ? { run } : undefined;
  },
  breaks: starves,
  workloads: { read: aloneReading, write: aloneWriting, mixed: takingTurns },
});

function limiterCell(
  rule: Rule,
  workloads: InProcess<LimiterForm>['workloads'] = { queued: queued(rule) },
) {
  return inProcessCell<LimiterForm>({
    id: `limiter, ${rule}`,
    form: ({ limiter }) =>
      limiter?.rules.includes(rule) && !limiter.alwaysWaits ? limiter : undefined,
    async breaks(form, library) {
      if (form.limitsNothing) return undefined;
      const { create, run } = form;
      const concurrency = rule === 'rate' ? Number.POSITIVE_INFINITY : 1;
      const rate = rule === 'concurrency' ? undefined : { limit: 1, per: 20 };
      const limiter = create(library, { concurrency, rate });
      const exceeds = rate && (await exceedsAtEdge(form, library));
      const keeps = await keepsContext((work) => run(limiter, work));
      return [exceeds, keeps ? undefined : lostContext].filter(Boolean).join('; ') || undefined;
    },
    workloads,
  });
}

export const concurrencyCell = limiterCell('concurrency', {
  of10000: queued('concurrency', 10_000),
  of1000: queued('concurrency', 1_000),
});
export const rateCell = limiterCell('rate');
export const bothCell = limiterCell('both');

/** Leaves out the subjects that take long for each function. */
export const longQueueCell = inProcessCell<LimiterForm>({
  id: 'limiter, long queue',
  sliceMilliseconds: 100,
  form: ({ limiter }) =>
    limiter?.rules.includes('concurrency') && limiter.most === undefined ? limiter : undefined,
  workloads: { of100000: queued('concurrency', 100_000) },
});

export const keyedCell = inProcessCell<KeyedForm>({
  id: 'keyed',
  sliceMilliseconds: 50,
  form: ({ keyed }) => keyed,
  workloads: { keyed },
});

export const mapCell = inProcessCell<MapForm>({
  id: 'map',
  form: ({ map }) => map,
  workloads: { of1000: mapped(1_000), of10000: mapped(10_000), of100000: mapped(100_000) },
});

export const selectCell = inProcessCell<SelectForm>({
  id: 'select',
  form: ({ select }) => select,
  check: checkSelect,
  workloads: { waited, ready },
});
