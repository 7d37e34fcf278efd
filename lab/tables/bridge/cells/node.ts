/** The cell of Node: the host is the cell's main thread, the worker a thread of the same process. */
import type { Cell } from '../../../harness/table.js';
import { Session } from '../host/session.js';
import { nodeGround } from '../node/ground.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { measureInAll } from './measure.js';

export const nodeCell: Cell = {
  id: 'node',
  subjects: subjects.filter(({ platforms }) => platforms.includes('Node')).map(({ name }) => name),
  expectedMilliseconds: 4_500,
  limitMilliseconds: 90_000,
  async measure(name, budget, isWanted) {
    const subject = subjectNamed(name);
    let session: Session | undefined;
    const opened = () => {
      if (!session) throw new Error('no session is open');
      return session;
    };
    return measureInAll(
      subject,
      {
        platform: 'Node',
        open: async () => {
          session = await Session.open(subject, nodeGround(name));
        },
        run: (order) => opened().run(order),
        closeSession: async () => opened().close(),
      },
      budget,
      isWanted,
    );
  },
};
