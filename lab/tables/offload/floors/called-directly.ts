import type { PoolSubject } from '../subject.js';

const subject: PoolSubject = {
  name: 'called directly',
  role: 'floor',
  note: 'An async function on the main thread, awaited.',
  async open() {
    const { echo } = await import('../tasks/functions.js');
    return {
      run: async (_task, given) => echo(given),
      end: async () => {},
    };
  },
};

export default subject;
