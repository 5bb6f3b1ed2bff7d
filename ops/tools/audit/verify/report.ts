import type { ProjectionName } from '../../../../projectors/runtime/projection.js';
import type { TopicName } from '../../../../schemas/events/topics.js';

/** What is verified: a read model, or the ledger. */
export type Model = ProjectionName | 'ledger';

/** A place in the log, or, on Kafka, among the events that the outbox has not sent yet. */
export interface RowPlace {
  readonly in: 'log' | 'outbox';
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
}

/** An event that a row is a fold of; one that cannot be read is named by its place alone. */
export interface ExplainingEvent extends RowPlace {
  readonly id: string | null;
  readonly type: string | null;
  readonly time: string | null;
  /** What it says, less its secrets. */
  readonly data: unknown;
}

export interface DifferentColumn {
  readonly name: string;
  /** In the live table; `undefined` where the row is not there. */
  readonly found: unknown;
  /** By the log; `undefined` where the log gives no such row. */
  readonly expected: unknown;
}

export interface Difference {
  readonly model: Model;
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  /** `missing` in the live table, `extra` there, or both have it and its columns differ. */
  readonly kind: 'differs' | 'missing' | 'extra';
  readonly columns: readonly DifferentColumn[];
}

export interface ExplainedDifference extends Difference {
  /** The first and the last ones of those that the row is a fold of. */
  readonly events: readonly ExplainingEvent[];
  /** How many there are. */
  readonly eventCount: number;
}

export interface VerifiedTable {
  readonly model: Model;
  readonly table: string;
  /** In the live table. */
  readonly rows: number;
  /** Rows that are not what the log gives. */
  readonly differences: number;
}

/** Offsets from `from` up to, not including, `to`, at which the log has nothing. */
export interface Gap extends Omit<RowPlace, 'offset'> {
  readonly from: number;
  readonly to: number;
}

/** Events of one origin that the log lacks: a sequence ascends by 1 with each event of its origin. */
export interface MissingEvents {
  readonly topic: TopicName;
  /** A subject whose events the ledger numbers in this topic, or the source of a spool. */
  readonly origin: string;
  /** The lowest sequence that is missing; `null` of a spool, of which only the number is known. */
  readonly first: number | null;
  readonly count: number;
}

/** Records that a read model has set aside: equal to the fold, and yet not applied. */
export interface SetAside {
  readonly model: Model;
  readonly deadLetters: number;
  readonly parked: number;
}

export interface Verification {
  /** Records of the log, and of the outbox before it. */
  readonly events: number;
  readonly tables: readonly VerifiedTable[];
  /** Of each table, as many as were asked for. */
  readonly differences: readonly ExplainedDifference[];
  readonly gaps: readonly Gap[];
  readonly missing: {
    readonly events: number;
    /** Subjects and spools that lack events. */
    readonly origins: number;
    /** Of each topic, as many origins as were asked for, those that lack the most events first. */
    readonly reported: readonly MissingEvents[];
  };
  readonly setAside: readonly SetAside[];
}

/** Whether everything is what the log gives, and the log lacks nothing. */
export const isClean = ({
  tables,
  gaps,
  missing,
}: Pick<Verification, 'tables' | 'gaps' | 'missing'>): boolean =>
  gaps.length === 0 && missing.events === 0 && tables.every(({ differences }) => differences === 0);
