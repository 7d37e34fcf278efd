import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'called directly',
  role: 'floor',
  note: 'The function is called at once; nothing is limited.',
  load: async () => undefined,
  run: {
    create: () => undefined,
    run: (_, work) => work(),
  },
});
