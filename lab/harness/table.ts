/**
 * What a table of the lab is made of.
 *
 * A table is one published document, or one question that none has answered. It has cells (one subject doing one piece of work in its own
 * process) and rows (one measure of a cell: its unit, which direction is better, what the document
 * published). Invariant: everything that a reader of the report needs to judge a row stands in this
 * description or in a sample; nothing is added by hand later.
 */

/** One thing that is measured: ours, a peer, or a floor, which is the work with nothing around it. */
export interface Subject {
  /** As the report prints it; for an npm peer its package name. */
  readonly name: string;
  readonly role: 'ours' | 'peer' | 'floor';
  /**
   * The npm package whose version stands beside the name. Without one it is what `otherVersions` has
   * under the subject's name; a floor has none.
   */
  readonly package?: string;
  /** How the subject is used, where its documentation leaves a choice. */
  readonly note?: string;
}

/** What a subject does where there is nothing to count. */
export interface Behaviour {
  /** A short phrase. */
  readonly words: string;
  /** False where whoever meets it would call it a defect. */
  readonly sound: boolean;
}

/** What one run of one cell found. */
export interface Measurement {
  /** False when the subject did not do the work; such a cell is never a fast one. */
  readonly ok: boolean;
  /** Why it failed, or what drove it. */
  readonly note?: string;
  /**
   * Raw samples per measure, in the row's unit: finite numbers, at least one per measure of the
   * cell's rows. Where there are more than 201, the harness keeps 201 evenly spaced quantiles.
   */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /**
   * Set when the subject did the work but broke a promise that others keep (it lost the caller's
   * async context): what it broke. It is shown, and never chosen as the row's best peer.
   */
  readonly unequal?: string;
  /** Set, with `ok: false` and a note, when what the subject needs is not installed here. */
  readonly unavailable?: true;
  /** By the columns of the table's `behaviours` of this cell. */
  readonly behaviours?: Readonly<Record<string, Behaviour>>;
}

/** How long a cell may take. */
export interface Budget {
  readonly warmupMilliseconds: number;
  readonly measureMilliseconds: number;
}

/** Whether somebody wants the samples of this measure. */
export type IsWanted = (measure: string) => boolean;

/**
 * One piece of work that every subject named here does in a process of its own. A cell without rows,
 * which gives behaviours alone, is run in the first round only.
 */
export type Cell = MeasuredCell | NativeCell;

interface AnyCell {
  readonly id: string;
  readonly subjects: readonly string[];
  /** What one run takes beyond its budget (servers to start, requests to send); a first guess. */
  readonly expectedMilliseconds?: number;
  /** After this long the cell has failed and is killed with all it started. Default: 30 000. */
  readonly limitMilliseconds?: number;
}

export interface MeasuredCell extends AnyCell {
  /** The path of the runtime that its process is of; absent for the Node that runs the lab. */
  readonly runtime?: string;
  /**
   * Runs inside the cell's own process and must check the subject's result. Only some rows may be
   * wanted: samples of other measures are not needed then.
   */
  measure(subject: string, budget: Budget, isWanted: IsWanted): Promise<Measurement>;
}

/** A cell whose process is a program of its own, not Node's. */
export interface NativeCell extends AnyCell {
  /**
   * The program's path and its arguments. It checks the subject's result, prints a Measurement as its
   * last line, with no more than 201 samples of a measure, and ends with exit code 0.
   */
  command(subject: string, budget: Budget): readonly [program: string, ...words: string[]];
}

/** One line of the report: one measure of one cell over all its subjects. */
export interface Row {
  /** Unique in the table; as the report prints it. */
  readonly row: string;
  /** The document's own heading of this column; absent where the row is not the document's. */
  readonly column?: string;
  /** The document's heading above this and its neighbours of the same unit: the test that they belong to. */
  readonly heading?: string;
  readonly cell: string;
  /** The key in Measurement.samples. */
  readonly measure: string;
  /**
   * The key in Measurement.samples of the processor time that one task or call of this row takes, in
   * microseconds: it stands beside the figure. Who has no samples of it has nothing beside.
   */
  readonly processorTime?: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** The cell's subjects that this row compares; absent for all of them. */
  readonly subjects?: readonly string[];
  /** The floor that ours is held against, where there are several; absent for the nearest. */
  readonly floor?: string;
  /** What the document published, by subject; absent where it published nothing. */
  readonly published?: Readonly<Record<string, number>>;
  /**
   * Stands in the document's table alone and is not compared: it says what was sent, or the same as
   * another row in other words.
   */
  readonly aside?: true;
  /** One sentence: what the work is and why a reader cares. */
  readonly about: string;
  /**
   * Shows this row with the others of the same title as one matrix, a line per subject, instead of
   * in full: a block is a heading over some of its columns, and has one unit and one direction.
   */
  readonly matrix?: { readonly title: string; readonly block: string; readonly column: string };
}

/** What the subjects of a cell do, in words: a line per subject, a column per situation. */
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
    /** What is done, in a few words, where the picture has no room for the sentence; else the title. */
    readonly work?: string;
  };
  /** Where the published figures come from; absent where nothing has been published. */
  readonly document?: {
    readonly title: string;
    readonly source: string;
    /** The document published the best of this many runs; the report shows the same of ours. */
    readonly bestOf?: number;
    /**
     * The document has a column for each subject and a line for each figure, all of one test; or a line
     * for each test, which is compared.
     */
    readonly layout?: 'line per figure' | 'line per test';
  };
  readonly subjects: readonly Subject[];
  /** How many of the first cells `make lab` measures; absent for one. */
  readonly headlineCells?: number;
  /**
   * The first is the headline's: its first row is the table's picture and first sentence. A round of those
   * that `make lab` measures takes less than half a minute. The rows with a `column`, of this and other
   * cells, are the document's columns, in their order.
   */
  readonly cells: readonly Cell[];
  readonly rows: readonly Row[];
  readonly behaviours?: readonly Behaviours[];
  /** Further npm packages that decide the figures (a runtime, a driver); the report names them. */
  readonly tools?: readonly string[];
  /** What else the figures depend on, by name; another version starts the run anew. */
  readonly otherVersions?: Readonly<Record<string, string>>;
  /** The programs of native cells; what they are built from may change while its version does not. */
  readonly programs?: readonly string[];
  /** Brings what the cells need (servers, bundles, drivers) before the first round; prints nothing. */
  prepare?(report: (line: string) => void): Promise<Prepared | undefined>;
}

/** What a table's preparation leaves running for the cells, and ends with the lab. */
export interface Prepared {
  /** The ids of its processes. What they use of the processors counts as the lab's own. */
  readonly processes: readonly number[];
}
