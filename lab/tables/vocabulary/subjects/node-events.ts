import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Node events',
  role: 'peer',
  note: 'An EventEmitter and `events.on`; for the latest value `events.once`.',
  load: () => import('node:events'),
  channel: {
    capacities: [Number.POSITIVE_INFINITY],
    create: ({ EventEmitter }) => {
      const emitter = new EventEmitter();
      return { emitter, iterator: EventEmitter.on(emitter, 'value', { close: ['end'] } as object) };
    },
    push: ({ emitter }, value) => emitter.emit('value', value),
    receive: ({ iterator }) => iterator.next() as Promise<IteratorResult<[number]>>,
    value: ({ value: [value] }) => value,
    iterate: ({ iterator }) => iterator as AsyncIterable<[number]>,
    item: ([value]) => value,
    close: ({ emitter }) => emitter.emit('end'),
  },
  broadcast: {
    create: async ({ EventEmitter }) => new EventEmitter(),
    subscribe: async (emitter, { EventEmitter }) => EventEmitter.on(emitter, 'value'),
    send: (emitter, value) => emitter.emit('value', value),
    receive: (iterator) => iterator.next() as Promise<IteratorResult<[number]>>,
    value: ({ value: [value] }) => value,
  },
  watch: {
    create: async ({ EventEmitter }) => new EventEmitter(),
    subscribe: async (emitter) => emitter,
    send: (emitter, value) => emitter.emit('value', value),
    changed: (emitter, { EventEmitter }) =>
      EventEmitter.once(emitter, 'value') as Promise<[number]>,
    value: ([value]) => value,
  },
});
