import {
  ArchiveCut,
  ArchiveForeign,
  ArchiveUnavailable,
  isSoftDeleted,
  type AppendOutcome,
  type ArchiveFailure,
  type StoredEvent,
  type StreamMetadata,
} from './store.js';

/** What the archive shows of a stream after a conflict. */
export interface StreamView {
  /** The visible events from the first revision of the append on; `null`: the stream has a tombstone. */
  readonly found: readonly Pick<StoredEvent, 'revision' | 'id'>[] | null;
  readonly metadata: StreamMetadata;
  /** The outcome of a repeated append of the last event that the stream claims to have. */
  readonly repeated?: AppendOutcome;
}

export type Step =
  /** The archive has these events, or had them. */
  | { readonly type: 'advance'; readonly count: number; readonly removed: number }
  /** Append the event at this index again. */
  | { readonly type: 'repeat'; readonly index: number }
  | { readonly type: 'split' }
  | { readonly type: 'reject'; readonly message: string }
  | { readonly type: 'fail'; readonly error: ArchiveFailure };

const fail = (error: ArchiveFailure): Step => ({ type: 'fail', error });

/**
 * Returns what to do after an append of events to a stream at revision `first`. The revision of an event depends on the log alone, so
 * an event is neither duplicated nor reordered, and a removed event keeps its revision.
 *
 * A conflict with nothing to see has two causes: retention removed the events, or they are not committed yet. An append of
 * the last one alone tells them apart: the server drops it while it is not committed (TIMEOUT), and otherwise either
 * recognizes it or reports a conflict, because it was scavenged. Then all events before it are committed too. A
 * soft-deleted stream would store its first event again, so its events count as removed without this test.
 */
export const nextStep = (
  stream: string,
  first: number,
  ids: readonly string[],
  outcome: AppendOutcome,
  { found, metadata, repeated }: StreamView = { found: [], metadata: {} },
): Step => {
  switch (outcome.type) {
    case 'appended':
      if (outcome.last === first + ids.length - 1) {
        return { type: 'advance', count: ids.length, removed: 0 };
      }
      // A new stream of the log existed in the archive, and was soft-deleted.
      return fail(new ArchiveForeign(stream, outcome.last, ids.at(-1)));
    case 'deleted':
      return { type: 'advance', count: ids.length, removed: ids.length };
    case 'rejected':
      return ids.length > 1 ? { type: 'split' } : { type: 'reject', message: outcome.message };
    case 'conflict': {
      const { last } = outcome;
      if (last < first - 1) return fail(new ArchiveCut(stream, first - 1));
      // The leader has changed.
      if (last < first) return fail(new ArchiveUnavailable('UNAVAILABLE', null));
      if (!found) return { type: 'advance', count: ids.length, removed: ids.length };
      const end = first + ids.length;
      const visible = found.filter(({ revision }) => revision < end);
      const foreign = visible.find(({ revision, id }) => id !== ids[revision - first]);
      if (foreign) return fail(new ArchiveForeign(stream, foreign.revision, foreign.id));
      const seen = (found.at(-1)?.revision ?? first - 1) + 1;
      const count = Math.min(end, Math.max(last + 1, seen)) - first;
      const advance: Step = { type: 'advance', count, removed: count - visible.length };
      if (seen >= first + count || isSoftDeleted(metadata)) return advance;
      if (!repeated) return { type: 'repeat', index: count - 1 };
      const isCommitted =
        'last' in repeated ? repeated.last >= first + count - 1 : repeated.type === 'deleted';
      return isCommitted ? advance : fail(new ArchiveUnavailable('UNAVAILABLE', null));
    }
    default: {
      const unknown: never = outcome;
      return unknown;
    }
  }
};
