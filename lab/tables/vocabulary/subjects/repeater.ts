import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@repeaterjs/repeater',
  role: 'peer',
  package: '@repeaterjs/repeater',
  note: 'The sender is its executor, which awaits each push.',
  load: () => import('@repeaterjs/repeater'),
  channelLoops: {
    capacities: [0, 1, 10, 100],
    iterate: async ({ Repeater, FixedBuffer }, capacity, values, take) => {
      const repeater = new Repeater<number>(async (push, stop) => {
        for (let sent = 0; sent < values; sent++) await push(sent);
        stop();
      }, new FixedBuffer(capacity));
      for await (const received of repeater) take(received);
    },
  },
});
