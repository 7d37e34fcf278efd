import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'empty request',
  role: 'floor',
  note: 'The request answered with nothing in it: what HTTP alone costs.',
  load: async () => undefined,
});
