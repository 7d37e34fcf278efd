/** One process of a cell: waits for commands, and does their work. */
import { on } from 'node:events';
import { limitSubjectNamed } from '../subjects/index.js';
import { decide } from '../workloads/decide.js';
import { keysNamed } from '../workloads/keys.js';
import { trace } from '../workloads/trace.js';
import type { Command, Orders } from './shared.js';

const { subject, address, namespace, rule, isFirst }: Orders = JSON.parse(process.argv[2] ?? '');
const commands = on(process, 'message');
const client = await limitSubjectNamed(subject).connect(address, namespace, rule);
process.send?.('ready');
for await (const [command] of commands as AsyncIterable<[Command]>) {
  try {
    process.send?.(
      command.name === 'trace'
        ? await trace(client, command.at, isFirst)
        : await decide(client, keysNamed(command.keys), command.tasks, command.milliseconds),
    );
  } catch (error) {
    process.send?.(error);
  }
}
