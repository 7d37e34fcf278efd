import type { PoolSubject } from '../subject.js';

const subject: PoolSubject = {
  name: 'called directly',
  role: 'floor',
  note: 'An async function of the main thread, awaited: nothing crosses.',
  async open() {
    const { echo } = await import('../tasks/functions.js');
    return {
      run: async (_task, given) => echo(given),
      end: async () => {},
    };
  },
};

export default subject;
