/** The works that a cell measures of a subject, and the duration of each. */

import type { Condition } from '../../../harness/condition.js';
import type { Budget } from '../../../harness/table.js';
import type { Order } from '../caller/order.js';
import type { BridgeSubject, Platform } from '../subject.js';
import { isPayload, type Work } from '../work.js';

/** In a browser the clock moves in steps of 5 µs. */
const callsTimedTogether: Readonly<Record<Platform, number>> = { Chromium: 16, Node: 1 };

interface Amount {
  /** A multiple of the budget's warm-up. */
  readonly warmUp: number;
  readonly samples: number;
}

// The first work also warms up the subject and the engine, which takes a second in a browser. An adaptive subject
// settles on its way of waiting.
const first: Amount = { warmUp: 12, samples: 8 };
const usual: Amount = { warmUp: 0.5, samples: 4 };
const single: Amount = { warmUp: 0, samples: 3 };
const payload: Amount = { warmUp: 0.2, samples: 4 };

function amountOf(work: Work): Amount {
  if (work === 'call') return first;
  if (work === 'single') return single;
  return isPayload(work) ? payload : usual;
}

/** A page draws sixty times a second and idle threads use little, so both need more time. */
const watchedMilliseconds: Partial<Record<Work, number>> = { steady: 200, frames: 500, idle: 500 };

const mostSampleMilliseconds = 50;

/** `frames` needs a page; its processor time is that of `steady`. */
export function worksOf(subject: BridgeSubject, platform: Platform, condition: Condition): Work[] {
  const hasFrames = platform === 'Chromium' && subject.does.includes('frames');
  return subject.does.filter((work) => {
    if (work === 'frames') return hasFrames;
    if (work === 'steady') return !hasFrames;
    if (work === 'idle') return condition === 'quiet';
    return true;
  });
}

export function orderOf(work: Work, platform: Platform, budget: Budget): Order {
  const sampleMilliseconds = Math.min(mostSampleMilliseconds, budget.measureMilliseconds / 4);
  const order = { work, group: callsTimedTogether[platform] };
  const watched = watchedMilliseconds[work];
  if (watched !== undefined) {
    return { ...order, warmUpMilliseconds: 0, samples: 1, sampleMilliseconds: watched };
  }
  const { warmUp, samples } = amountOf(work);
  return {
    ...order,
    warmUpMilliseconds: budget.warmupMilliseconds * warmUp,
    samples,
    sampleMilliseconds: isPayload(work) ? sampleMilliseconds / 2 : sampleMilliseconds,
  };
}
