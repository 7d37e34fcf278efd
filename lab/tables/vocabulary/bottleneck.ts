/** The code that both variants of bottleneck share. */
import type Bottleneck from 'bottleneck';
import { defineSubject, type Rate, type VocabularySubject } from './subject.js';

export function bottleneck(options: {
  readonly name: string;
  readonly note: string;
  readonly rateOptions: (rate: Rate) => Bottleneck.ConstructorOptions;
}): VocabularySubject {
  const { name, note, rateOptions } = options;
  const isFirst = name === 'bottleneck';
  return defineSubject({
    name,
    role: 'peer',
    package: 'bottleneck',
    note,
    load: () => import('bottleneck'),
    limiter: {
      rules: isFirst ? ['concurrency', 'rate', 'both'] : ['rate', 'both'],
      ...(isFirst ? { most: 20 } : { alwaysWaits: true }),
      create: ({ default: Limiter }, { concurrency, rate }) =>
        new Limiter({
          maxConcurrent: Number.isFinite(concurrency) ? concurrency : null,
          ...(rate ? rateOptions(rate) : {}),
        }),
      run: (limiter, work) => limiter.schedule(work),
    },
    ...(isFirst
      ? {
          keyed: {
            most: 100,
            create: ({ default: Limiter }, maxConcurrent) => new Limiter.Group({ maxConcurrent }),
            run: (group, key, work) => group.key(key).schedule(work),
          },
        }
      : {}),
  });
}
