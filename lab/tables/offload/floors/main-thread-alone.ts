import type { PoolSubject, TaskName } from '../subject.js';

const floor: PoolSubject = {
  name: 'main thread alone',
  role: 'floor',
  note: 'The main thread does one task after the other. If a pool is slower, such tasks are not worth offloading.',
  async open() {
    const functions = await import('../tasks/index.js');
    const tasks = functions as unknown as Record<TaskName, (given: unknown) => unknown>;
    return {
      run: async (task, given) => tasks[task](given),
      end: async () => {},
    };
  },
};

export default floor;
