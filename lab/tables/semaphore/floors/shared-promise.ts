import { defineSubject } from '../subject.js';

const resolved = Promise.resolve();

export default defineSubject({
  name: 'shared promise',
  role: 'floor',
  note: 'An await of one resolved promise; no semaphore.',
  load: async () => undefined,
  permits: {
    create: () => undefined,
    acquire: () => resolved,
    release: () => {},
  },
});
