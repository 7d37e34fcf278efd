/** The options of the command line, checked before any effect. */
import type { ArgsDef, CommandContext } from 'citty';

export interface Options {
  readonly table?: string | undefined;
  /** Measures every row of every table; otherwise the headlines, or all rows of the named table. */
  readonly full: boolean;
  /** The exact number of rounds. Default: that of the plan's part. */
  readonly rounds?: number | undefined;
  readonly row?: string | undefined;
  readonly subject?: string | undefined;
  /** Measures ours against itself, which shows how often the lab finds a difference where there is none. */
  readonly itself: boolean;
  readonly fresh: boolean;
  readonly report: boolean;
}

export const optionArguments = {
  table: {
    type: 'string',
    valueHint: 'name',
    description: 'Measure all rows of this table (default: the headline of each table)',
  },
  full: { type: 'boolean', description: 'Measure all rows of all tables, the headlines first' },
  rounds: {
    type: 'string',
    valueHint: 'number',
    description: 'The exact number of rounds (default: until the verdicts are certain)',
  },
  row: {
    type: 'string',
    valueHint: 'row, cell or pattern',
    description: 'Measure this row again; a pattern is a trial and leaves the report unchanged',
  },
  subject: {
    type: 'string',
    valueHint: 'name or pattern',
    description: 'Try the subjects that match against ours; leaves the report unchanged',
  },
  itself: { type: 'boolean', description: 'Try ours against itself: no row may differ' },
  fresh: {
    type: 'boolean',
    description: 'Discard the rounds of an interrupted run and start over',
  },
  report: { type: 'boolean', description: 'Measure nothing; build the report again' },
} satisfies ArgsDef;

export function parseOptions({
  args,
  rawArgs,
}: Pick<CommandContext<typeof optionArguments>, 'args' | 'rawArgs'>): Options {
  const stranger = rawArgs
    .filter((argument) => argument.startsWith('-'))
    .find((argument) => !(argument.replace(/^--?|=.*$/g, '') in optionArguments));
  if (stranger !== undefined) {
    const known = Object.keys(optionArguments).map((name) => `--${name}`);
    throw new Error(`${stranger}: expected one of ${known.join(', ')}`);
  }
  if (args._.length > 0) {
    throw new Error(`${args._[0]}: expected only options; a table is named by --table`);
  }
  const rounds = args.rounds ? Number(args.rounds) : undefined;
  if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds >= 1)) {
    throw new Error(`--rounds ${args.rounds}: expected a positive integer`);
  }
  for (const name of ['row', 'subject'] as const) checkPattern(name, args[name]);
  return {
    table: args.table || undefined,
    full: args.full === true,
    rounds,
    row: args.row || undefined,
    subject: args.subject || undefined,
    itself: args.itself === true,
    fresh: args.fresh === true,
    report: args.report === true,
  };
}

function checkPattern(name: string, pattern: string | undefined): void {
  try {
    new RegExp(pattern ?? '');
  } catch {
    throw new Error(`--${name} ${pattern}: expected a name or a regular expression`);
  }
}
