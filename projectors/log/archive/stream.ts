import { firstWithin } from '../../../ops/platform/collections.js';
import {
  ArchiveCut,
  ArchiveForeign,
  ArchiveUnavailable,
  isSoftDeleted,
  type ArchivedEvent,
  type ArchiveStore,
} from './store.js';

/** The server's default limit is 1 MiB. */
const maxAppendBytes = 1_000_000;

/** The methods of the store that `archiveStream` calls. */
export type StreamStore = Pick<ArchiveStore, 'append' | 'read' | 'probe' | 'metadata'>;

/** Returns the bytes that count toward the server's limit of an append. */
const sizeOf = ({ type, data, metadata }: ArchivedEvent): number =>
  Buffer.byteLength(JSON.stringify(data) + JSON.stringify(metadata)) + type.length * 2;

/**
 * Skips events from revision `first` on that the stream has, or had; `last` is where it ends.
 *
 * If events before `last` are not visible, retention removed them, or they are not committed yet. An append of the last one
 * alone distinguishes the cases: the server drops it while it is not committed (TIMEOUT), and otherwise either recognizes it
 * or reports a conflict, because it was scavenged. Then all events before it are committed too. A soft-deleted stream would
 * store its first event again, so its events count as removed without this test.
 *
 * @returns how many events were skipped, and how many of them were removed
 * @throws ArchiveUnavailable, ArchiveCut, ArchiveForeign
 */
const skipKnown = async (
  store: StreamStore,
  stream: string,
  first: number,
  events: readonly ArchivedEvent[],
  last: number,
): Promise<readonly [skipped: number, removed: number]> => {
  if (last < first - 1) throw new ArchiveCut(stream, first - 1);
  // The leader has changed.
  if (last < first) throw new ArchiveUnavailable('UNAVAILABLE', null);
  const found = await store.read(stream, first, events.length);
  // The stream has a tombstone.
  if (!found) return [events.length, events.length];
  const visible = found.filter(({ revision }) => revision < first + events.length);
  const foreign = visible.find(({ revision, id }) => id !== events[revision - first]?.id);
  if (foreign) throw new ArchiveForeign(stream, foreign.revision, foreign.id);
  const seen = (found.at(-1)?.revision ?? first - 1) + 1 - first;
  const skipped = Math.min(events.length, Math.max(last + 1 - first, seen));
  const isHidden = seen < skipped;
  if (isHidden && (found.length > 0 || !isSoftDeleted(await store.metadata(stream)))) {
    const revision = first + skipped - 1;
    const repeated = await store.append(stream, revision, events.slice(skipped - 1, skipped));
    const isCommitted =
      'last' in repeated ? repeated.last >= revision : repeated.type === 'deleted';
    if (!isCommitted) throw new ArchiveUnavailable('UNAVAILABLE', null);
  }
  return [skipped, skipped - visible.length];
};

/**
 * Archives events of one stream from revision `first` on. The revision of an event depends on the log alone, so an event is
 * neither duplicated nor reordered, and a removed event keeps its revision. If the archive may have them already, the end of
 * the stream is read first, because a soft-deleted stream would store them again.
 *
 * @returns how many events the archive has or had, how many of them were removed, and why the server rejects the next one
 * @throws ArchiveUnavailable, ArchiveCut, ArchiveForeign
 */
export const archiveStream = async (
  store: StreamStore,
  stream: string,
  first: number,
  events: readonly ArchivedEvent[],
  mayExist: boolean,
) => {
  const end = mayExist ? await store.probe(stream) : null;
  let [archived, removed, limit] = [0, 0, Infinity];
  while (archived < events.length) {
    const portion = firstWithin(events.slice(archived, archived + limit), maxAppendBytes, sizeOf);
    const { length } = portion;
    const revision = first + archived;
    const isPast = end === null || (end.type === 'conflict' && end.last < revision);
    const outcome = isPast ? await store.append(stream, revision, portion) : end;
    switch (outcome.type) {
      case 'appended':
        // A new stream of the log existed in the archive, and was soft-deleted.
        if (outcome.last !== revision + length - 1) {
          throw new ArchiveForeign(stream, outcome.last, portion.at(-1)?.id);
        }
        archived += length;
        break;
      case 'deleted':
        archived += length;
        removed += length;
        break;
      case 'rejected':
        if (length === 1) return { archived, removed, rejected: outcome.message };
        limit = Math.ceil(length / 2);
        break;
      case 'conflict': {
        const [skipped, gone] = await skipKnown(store, stream, revision, portion, outcome.last);
        archived += skipped;
        removed += gone;
        break;
      }
      default: {
        const unknown: never = outcome;
        return unknown;
      }
    }
  }
  return { archived, removed, rejected: null };
};
