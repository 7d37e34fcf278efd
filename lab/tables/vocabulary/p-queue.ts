/** The code that both variants of p-queue share. */
import { defineSubject, type VocabularySubject } from './subject.js';

export function pQueue(options: {
  readonly name: string;
  readonly note: string;
  readonly isStrict: boolean;
}): VocabularySubject {
  const { name, note, isStrict: strict } = options;
  return defineSubject({
    name,
    role: 'peer',
    package: 'p-queue',
    note,
    load: () => import('p-queue'),
    limiter: {
      rules: strict ? ['rate', 'both'] : ['concurrency', 'rate', 'both'],
      create: ({ default: PQueue }, { concurrency, rate }) =>
        rate
          ? new PQueue({ concurrency, intervalCap: rate.limit, interval: rate.per, strict })
          : new PQueue({ concurrency }),
      run: (queue, work) => queue.add(work),
    },
    ...(strict
      ? {}
      : {
          keyed: {
            create: ({ default: PQueue }, concurrency) => ({
              queues: new Map<string, InstanceType<typeof PQueue>>(),
              make: () => new PQueue({ concurrency }),
            }),
            run: ({ queues, make }, key, work) => {
              let queue = queues.get(key);
              if (!queue) {
                queue = make();
                queues.set(key, queue);
              }
              return queue.add(work);
            },
          },
        }),
  });
}
