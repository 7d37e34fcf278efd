/**
 * The parts of a table.
 *
 * A table is one published document, or one question that no document answers. It has cells (one piece of work, which
 * each subject does in its own process) and rows (one measure of a cell: its unit, its direction, its published
 * figures).
 *
 * Invariant: everything that a reader needs to judge a row is in this description or in a sample; nothing is added by
 * hand later.
 */
import type { Condition } from './condition.js';

/** A measured subject: ours, a peer, or a floor, which is the work without any overhead. */
export interface Subject {
  /** Its name in the report; for an npm peer its package name. */
  readonly name: string;
  readonly role: 'ours' | 'peer' | 'floor';
  /**
   * The npm package whose version is shown beside the name. Without one the version is the entry of `otherVersions`
   * under the subject's name, if any.
   */
  readonly package?: string;
  /** How the subject is used, if its documentation leaves a choice. */
  readonly note?: string;
  /** The subject that this one repeats, in a run of ours against itself. */
  readonly sameAs?: string;
}

/** The behaviour of a subject where there is nothing to count. */
export interface Behaviour {
  /** A short phrase. */
  readonly words: string;
  /** False if a user would call it a defect. */
  readonly sound: boolean;
}

/** What the process of a cell reports at its end. */
export interface Measurement {
  /** False when the subject did not do the work; it then has no figure. */
  readonly ok: boolean;
  /** Why the subject failed, or another fact about the run, such as its load generator. */
  readonly note?: string;
  /**
   * Samples that are not those of slices, per measure, in the row's unit: finite numbers. Of more than 201 samples the
   * harness keeps 201 evenly spaced quantiles.
   */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /**
   * Why the subject is shown but is never the best peer: it did the work, but broke a promise that others keep (for
   * example, it lost the caller's async context) or had another priority.
   */
  readonly unequal?: string;
  /** Set, with `ok: false` and a note, if a prerequisite of the subject is not installed. */
  readonly unavailable?: true;
  /** By the columns of this cell's table of behaviours. */
  readonly behaviours?: Readonly<Record<string, Behaviour>>;
}

/** One sample of each measure, in the row's unit: finite numbers. */
export type Samples = Readonly<Record<string, number>>;

/** A repeatable piece of a cell's work, by which its subjects take turns. */
export interface Slice {
  /** Identifies the slice; the same for each subject of the cell. */
  readonly name: string;
  /** The condition in which the lab requests it. Default: quiet. */
  readonly condition?: Condition;
  /** Works for about this time, at least for one batch, and checks the result. */
  run(milliseconds: number): Promise<Samples>;
}

/** The lab, as the process of a cell sees it. */
export interface Lab {
  /** Whether the run needs the samples of this measure. */
  isWanted(measure: string): boolean;
  /** Tells the lab that the subject is warm, and runs a slice at each request. Resolves when the lab has enough. */
  serve(slices: readonly Slice[]): Promise<void>;
}

/**
 * One piece of work that each of its subjects does in a process of its own. All these processes are alive at the same
 * time and take turns, slice by slice, so an idle subject must not use the processor. A cell without rows reports only
 * behaviours and runs once.
 */
export type Cell = MeasuredCell | NativeCell;

interface AnyCell {
  readonly id: string;
  readonly subjects: readonly string[];
  /** Its processes warm up one after the other, because each needs several cores. */
  readonly warmsUpAlone?: true;
  /** The length of a slice; a subject may need longer for one batch. Default: 25. */
  readonly sliceMilliseconds?: number;
  /** The number of turns in a round. Default: as many as take about a second, from 2 to 10. */
  readonly turns?: number;
  /**
   * Why its work cannot be sliced. The processes of such a cell run one after the other and report their samples when
   * they end.
   */
  readonly whole?: string;
  /**
   * The estimated time of a process from its start until it is ready, or in a `whole` cell until its end. Default: 300.
   */
  readonly expectedMilliseconds?: number;
  /**
   * A process that is not ready, has not answered a request or has not ended after this time has failed and is killed
   * with all its children. Default: 30 000.
   */
  readonly limitMilliseconds?: number;
}

export interface MeasuredCell extends AnyCell {
  /** The path of the runtime of its process; absent for the Node that runs the lab. */
  readonly runtime?: string;
  /**
   * Runs inside the cell's own process: checks the subject, warms it up, serves the lab, and returns what the slices'
   * samples do not contain. A `whole` cell serves no slices and returns all its samples.
   */
  measure(subject: string, lab: Lab): Promise<Measurement>;
}

/**
 * A cell whose process is a program other than Node. It speaks the lab's protocol, a line of JSON each (see
 * `cell-process.ts`), and exits with code 0.
 */
export interface NativeCell extends AnyCell {
  /** The program's path and its arguments. */
  command(subject: string): readonly [program: string, ...words: string[]];
}

/** One line of the report: one measure of one cell over all its subjects. */
export interface Row {
  /** Its name in the report, unique in the table. */
  readonly row: string;
  /** The document's heading of this column; absent if the document does not have the row. */
  readonly column?: string;
  /** The document's heading above this column and its neighbours of the same test. */
  readonly heading?: string;
  readonly cell: string;
  /** The key in Measurement.samples. */
  readonly measure: string;
  /**
   * The key in Measurement.samples of the processor time of one task or call of this row, in microseconds, shown
   * beside the figure. A subject without such samples has none.
   */
  readonly processorTime?: string;
  /**
   * One thread does the work, so the row's ratios and verdicts are those of `processorTime`, which other programs on
   * the machine hardly change.
   */
  readonly judgedByProcessorTime?: true;
  /** Threads that spin need a core each, so there is no verdict while other programs use the processors. */
  readonly needsIdleCores?: true;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** The subjects of the cell that this row compares; absent for all of them. */
  readonly subjects?: readonly string[];
  /** The floor that ours is compared with, if there are several; absent for the nearest. */
  readonly floor?: string;
  /** The published figures, by subject; absent if there are none. */
  readonly published?: Readonly<Record<string, number>>;
  /** Shown only in the document's table and not compared: it describes the load, or repeats another row. */
  readonly aside?: true;
  /** One sentence: what the work is and why a reader cares. */
  readonly about: string;
  /**
   * Shows the rows of the same title as one matrix, a line per subject, instead of each in full. A block is a heading
   * over some of its columns, which have one unit and one direction.
   */
  readonly matrix?: { readonly title: string; readonly block: string; readonly column: string };
}

/** The behaviours of a cell's subjects, in words: a line per subject, a column per situation. */
export interface Behaviours {
  readonly title: string;
  readonly cell: string;
  readonly about: string;
  readonly columns: readonly string[];
}

export interface Table {
  readonly table: string;
  readonly title: string;
  readonly headline?: {
    /** Fills the report's first sentence: `<ours> is 1.1 times faster than <peer>, ..., <where>`. */
    readonly ours: string;
    readonly where: string;
    /**
     * The headline is the geometric mean over the document's rows (those with a `column`) of the headline cells, not
     * the first row alone.
     */
    readonly isMean?: true;
    /** The names of rows stated beside the sentence, which a reader should know and the headline does not show. */
    readonly beside?: readonly string[];
    /** The work in a few words, for the picture of all tables. Default: the title. */
    readonly work?: string;
  };
  /** The source of the published figures; absent if there is none. */
  readonly document?: {
    readonly title: string;
    readonly source: string;
    /** The document published the best of this many runs; the report shows the best of its own in the same way. */
    readonly bestOf?: number;
    /**
     * Set if the document has a column for each subject: with a line for each figure of one test, or with a line for
     * each test, which is compared.
     */
    readonly layout?: 'line per figure' | 'line per test';
  };
  readonly subjects: readonly Subject[];
  /** The number of cells, from the first, that `make lab` measures. Default: 1. */
  readonly headlineCells?: number;
  /**
   * The first row of the first cell is the headline, unless the headline is a mean. The rows with a `column` are the
   * document's columns, in their order.
   */
  readonly cells: readonly Cell[];
  readonly rows: readonly Row[];
  readonly behaviours?: readonly Behaviours[];
  /** Further npm packages that affect the figures (a runtime, a load generator); the report names them. */
  readonly tools?: readonly string[];
  /** Other versions that affect the figures, by name. A different version starts the run over. */
  readonly otherVersions?: Readonly<Record<string, string>>;
  /** The paths of native programs, whose content starts the run over too: it can change without a version. */
  readonly programs?: readonly string[];
  /** Prepares what the cells need (servers, bundles, load generators) before the first round. Must not print. */
  prepare?(report: (line: string) => void): Promise<Prepared | undefined>;
}

/** What a table's preparation leaves running for the cells, until the lab ends. */
export interface Prepared {
  /** The ids of its processes. Their processor time counts as the lab's own. */
  readonly processes: readonly number[];
}
