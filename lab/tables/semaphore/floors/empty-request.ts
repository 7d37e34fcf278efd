import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'empty request',
  role: 'floor',
  note: 'A request with an empty answer: the cost of HTTP alone.',
  load: async () => undefined,
});
