/** The machine, the versions and the conditions of a run. */
import type { TableOutcome } from '../harness/outcome.js';
import { describeNumber, describeShare } from './format.js';
import { html, type Markup } from './html.js';

export function machineSection({
  journal,
  table,
  date,
  foreignShare,
  stealShare,
}: TableOutcome): Markup {
  const { machine, wakeUpMicroseconds, versions } = journal.header;
  const subjects = new Set(table.subjects.map((subject) => subject.package ?? subject.name));
  const tools = Object.entries(versions).filter(([name]) => !subjects.has(name));
  const facts: [string, string][] = [
    ['Processor', `${machine.cpu}, ${machine.cores} cores`],
    ['Memory', `${machine.memory_gibibytes} GiB`],
    ['System', `${machine.system}, ${machine.kernel}`],
    ['Runtime', `Node ${machine.node}, V8 ${machine.v8}`],
    ['With', tools.map(([name, version]) => `${name} ${version}`).join(', ')],
    [
      'Wake-up cost',
      `${describeNumber(wakeUpMicroseconds)} µs to wake a sleeping thread on an idle core`,
    ],
    ['Foreign load', describeLoad(foreignShare, stealShare)],
    ['Commit', machine.commit ?? 'not in a repository'],
    ['Date', `${date.slice(0, 16).replace('T', ' ')} UTC`],
  ];
  return html`<dl class="machine">
${facts.filter(([, value]) => value !== '').map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;
}

function describeLoad(foreign: number | null, steal: number | null): string {
  if (foreign === null || steal === null) return 'not measured';
  return `${describeShare(foreign)} of the processors, of which the hypervisor took ${describeShare(steal)}`;
}
