import {
  isSoftDeleted,
  type AppendOutcome,
  type StoredEvent,
  type StreamMetadata,
} from './store.js';

/** What the archive shows of a stream that refused an append. */
export interface StreamView {
  /** The visible events from the first revision of the append on; `null`: the stream has a tombstone. */
  readonly found: readonly Pick<StoredEvent, 'revision' | 'id'>[] | null;
  readonly metadata: StreamMetadata;
  /** The outcome of a repeated append of the last event that the stream claims to have; `null`: not tried yet. */
  readonly repeated: AppendOutcome | null;
}

export type Step =
  /** The archive has these events, or had them. */
  | { readonly type: 'advance'; readonly count: number; readonly removed: number }
  | { readonly type: 'view' }
  /** Append the event at this index again. */
  | { readonly type: 'repeat'; readonly index: number }
  | { readonly type: 'split' }
  | { readonly type: 'reject'; readonly message: string }
  /** The stream lacks events that it had. */
  | { readonly type: 'cut' }
  /** The stream has an event at this revision that the log does not have. */
  | { readonly type: 'foreign'; readonly revision: number }
  /** The leader has changed, or an event is not committed yet. */
  | { readonly type: 'retry' };

/**
 * Returns what to do after an append of events at revision `first`. The revision of an event depends on the log alone, so
 * an event is neither duplicated nor reordered, and a removed event keeps its revision.
 *
 * A conflict with nothing to see has two causes: retention removed the events, or they are not committed yet. An append of
 * the last one alone tells them apart: the server drops it while it is not committed (TIMEOUT), and otherwise either
 * recognizes it or reports a conflict, because it was scavenged. Then all events before it are committed too. A
 * soft-deleted stream would store its first event again, so its events count as removed without this test.
 */
export const nextStep = (
  first: number,
  ids: readonly string[],
  outcome: AppendOutcome,
  view: StreamView | null,
): Step => {
  switch (outcome.type) {
    case 'appended':
      if (outcome.last === first + ids.length - 1) {
        return { type: 'advance', count: ids.length, removed: 0 };
      }
      // A new stream of the log existed in the archive, and was soft-deleted.
      return { type: 'foreign', revision: first };
    case 'deleted':
      return { type: 'advance', count: ids.length, removed: ids.length };
    case 'rejected':
      return ids.length > 1 ? { type: 'split' } : { type: 'reject', message: outcome.message };
    case 'conflict': {
      const { last } = outcome;
      if (last < first - 1) return { type: 'cut' };
      if (last < first) return { type: 'retry' };
      if (!view) return { type: 'view' };
      const { found, metadata, repeated } = view;
      if (!found) return { type: 'advance', count: ids.length, removed: ids.length };
      const end = first + ids.length;
      const visible = found.filter(({ revision }) => revision < end);
      const foreign = visible.find(({ revision, id }) => id !== ids[revision - first]);
      if (foreign) return { type: 'foreign', revision: foreign.revision };
      const seen = (found.at(-1)?.revision ?? first - 1) + 1;
      const count = Math.min(end, Math.max(last + 1, seen)) - first;
      const advance: Step = { type: 'advance', count, removed: count - visible.length };
      if (seen >= first + count || isSoftDeleted(metadata)) return advance;
      if (!repeated) return { type: 'repeat', index: count - 1 };
      const isCommitted =
        repeated.type === 'appended' ||
        repeated.type === 'deleted' ||
        (repeated.type === 'conflict' && repeated.last >= first + count - 1);
      return isCommitted ? advance : { type: 'retry' };
    }
    default: {
      const unknown: never = outcome;
      return unknown;
    }
  }
};
