/**
 * 1,000 jobs for a limiter of 100 in 250 ms, and the judge. The first job arrives alone; the others arrive all at once,
 * 230 ms later. A limiter with fixed windows admits 99 of them at once, and 100 more after 20 ms.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { usedMicroseconds } from '../../../harness/sample.js';
import type { MeasuredCell, Measurement } from '../../../harness/table.js';
import { type Job, judge } from '../obedience.js';
import type { LimiterForm, Rate } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { missingOf } from './in-process.js';

const rate: Rate = { limit: 100, per: 250 };
const jobs = 1_000;
const before = 20;

export function obedientCell(rule: 'rate' | 'both'): MeasuredCell {
  const concurrency = rule === 'both' ? 20 : Number.POSITIVE_INFINITY;
  const id = `obedient, ${rule}`;
  const form = (limiter: LimiterForm | undefined) =>
    limiter?.rules.includes(rule) && !limiter.limitsNothing ? limiter : undefined;

  async function measureOnce(name: string): Promise<Measurement> {
    const subject = subjectNamed(name);
    const limiter = form(subject.limiter);
    if (limiter === undefined)
      throw new Error(`cell ${id}: ${name} lacks a form or feature that it needs`);
    const missing = missingOf(subject);
    if (missing) return missing;
    const library = await subject.load();
    const made = limiter.create(library, { concurrency, rate });
    const done: Job[] = [];
    const ask = () => {
      const askedAt = performance.now();
      return limiter.run(made, async () => {
        const startedAt = performance.now();
        if (rule === 'both') await pause(10);
        done.push({ askedAt, startedAt, endedAt: performance.now() });
      });
    };

    // Compiles the code; otherwise the engine compiles it between the decision and the start.
    const wide = limiter.create(library, { concurrency, rate: { limit: 1_000, per: rate.per } });
    await Promise.all(Array.from({ length: 300 }, () => limiter.run(wide, () => pause(1))));

    const usedBefore = usedMicroseconds();
    const all = [ask()];
    await pause(rate.per - before);
    for (let job = 1; job < jobs; job++) all.push(ask());
    await Promise.all(all);
    const used = usedMicroseconds() - usedBefore;

    const verdict = judge(done, rate, concurrency);
    const { starts, tooEarly, mostInWindow, mostAtOnce, throughput } = verdict;
    const broken = [
      ...(starts === jobs ? [] : [`started ${starts} of ${jobs}`]),
      ...(tooEarly === 0
        ? []
        : [
            `${tooEarly} of ${starts} starts above its limit, up to ${mostInWindow} in ${rate.per} ms`,
          ]),
      ...(mostAtOnce <= concurrency ? [] : [`${mostAtOnce} at once, ${concurrency} allowed`]),
    ];
    if (broken.length > 0) return { ok: false, note: broken.join('; '), samples: {} };
    return {
      ok: true,
      samples: { throughput: [throughput], processor: [used / jobs] },
    };
  }

  /** A subject has three attempts, because a delay between the decision and the start is no violation. */
  async function measure(name: string): Promise<Measurement> {
    let found = await measureOnce(name);
    for (let again = 0; again < 2 && !found.ok; again++) found = await measureOnce(name);
    return found;
  }

  const names = subjects.filter(({ limiter }) => form(limiter)).map(({ name }) => name);
  return {
    id,
    subjects: names,
    whole: 'a rate is judged over windows of 250 ms, which cannot be interrupted',
    expectedMilliseconds: 3_000,
    measure,
  };
}
