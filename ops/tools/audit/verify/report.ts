import type { TopicName } from '../../../../schemas/events/topics.js';

/** A read model, or the ledger. */
export type Model = string;

/** A position in the log, or in the part of the outbox that is not relayed to Kafka yet. */
export interface RowPosition {
  readonly in: 'log' | 'outbox';
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
}

/** An event that a row is a fold of; an unreadable event has a position only. */
export interface ExplainingEvent extends RowPosition {
  readonly id: string | null;
  readonly type: string | null;
  readonly time: string | null;
  /** The event's data without secrets. */
  readonly data: unknown;
}

export interface DifferentColumn {
  readonly name: string;
  /** The value in the live table; `undefined` if the row is missing. */
  readonly found: unknown;
  /** The value of the fold; `undefined` if the fold has no such row. */
  readonly expected: unknown;
}

export interface Difference {
  readonly model: Model;
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  /** The row is `missing` or `extra` in the live table, or its columns differ. */
  readonly kind: 'differs' | 'missing' | 'extra';
  readonly columns: readonly DifferentColumn[];
}

export interface ExplainedDifference extends Difference {
  /** The first and the last events that the row is a fold of. */
  readonly events: readonly ExplainingEvent[];
  readonly eventCount: number;
}

export interface VerifiedTable {
  readonly model: Model;
  readonly table: string;
  readonly rows: number;
  readonly differences: number;
}

/** A range of offsets without records; `to` is exclusive. */
export interface Gap extends Omit<RowPosition, 'offset'> {
  readonly from: number;
  readonly to: number;
}

/** Missing events of one origin, whose sequence ascends by 1. */
export interface MissingEvents {
  readonly topic: TopicName;
  /** A subject of this topic, or the source of a spool. */
  readonly origin: string;
  /** The lowest missing sequence; `null` for a spool, of which only the count is known. */
  readonly first: number | null;
  readonly count: number;
}

/** The dead letters of a read model: the fold has them too, but they are not applied. */
export interface SetAside {
  readonly model: Model;
  readonly deadLetters: number;
  readonly parked: number;
}

export interface Verification {
  /** Records of the log and the outbox. */
  readonly events: number;
  readonly tables: readonly VerifiedTable[];
  /** Bounded for each table. */
  readonly differences: readonly ExplainedDifference[];
  readonly gaps: readonly Gap[];
  readonly missing: {
    readonly events: number;
    readonly origins: number;
    /** Bounded for each topic, sorted by the number of missing events. */
    readonly reported: readonly MissingEvents[];
  };
  readonly setAside: readonly SetAside[];
}

export const isClean = ({
  tables,
  gaps,
  missing,
}: Pick<Verification, 'tables' | 'gaps' | 'missing'>): boolean =>
  gaps.length === 0 && missing.events === 0 && tables.every(({ differences }) => differences === 0);
