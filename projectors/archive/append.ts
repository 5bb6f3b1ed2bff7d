import type { ArchivedEvent } from './archived-event.js';
import { AppendTooLarge, ArchiveCut, StreamRefused, WrongRevision } from './errors.js';
import type { ArchiveStore } from './store.js';

/** The server takes 1 MiB at once unless it is told otherwise. */
const maxAppendBytes = 1_000_000;

/** What became of a stream's events. */
export interface StreamOutcome {
  /** How many of them the stream has now, from the first one on. */
  readonly archived: number;
  /** Why the next one cannot be archived; `null` where all are. */
  readonly refused: Error | null;
}

/** The events that fit into one append: one at least. */
const portionOf = (events: readonly ArchivedEvent[], bytes: number): readonly ArchivedEvent[] => {
  let total = 0;
  const end = events.findIndex(({ size }, index) => (total += size) > bytes && index > 0);
  return end === -1 ? events : events.slice(0, end);
};

/**
 * Archives events of one stream, so that the first one's revision is `first`, wherever an earlier
 * try, or another archiver, left off. Each event has one place, which follows from the log alone, so
 * it can neither be there twice nor out of order.
 *
 * @throws ArchiveUnavailable, ArchiveCut
 */
export const archiveStream = async (
  store: Pick<ArchiveStore, 'append' | 'ids'>,
  stream: string,
  first: number,
  events: readonly ArchivedEvent[],
): Promise<StreamOutcome> => {
  let archived = 0;
  let bytes = maxAppendBytes;
  try {
    while (archived < events.length) {
      const portion = portionOf(events.slice(archived), bytes);
      const revision = first + archived;
      try {
        await store.append(stream, revision, portion);
        archived += portion.length;
      } catch (error) {
        if (error instanceof AppendTooLarge && portion.length > 1) {
          // A server that takes less: half as much, until it does.
          bytes = portion.reduce((sum, { size }) => sum + size, 0) / 2;
          continue;
        }
        if (!(error instanceof WrongRevision)) throw error;
        const found = await store.ids(stream, revision, portion.length);
        if (found.length === 0) throw new ArchiveCut(stream, revision);
        const foreign = found.findIndex((id, index) => id !== portion[index]?.id);
        archived += foreign === -1 ? found.length : foreign;
        if (foreign !== -1) {
          throw new StreamRefused(`Another event has its revision, ${revision + foreign}`, {
            cause: error,
          });
        }
      }
    }
    return { archived, refused: null };
  } catch (error) {
    if (error instanceof StreamRefused) return { archived, refused: error };
    throw error;
  }
};
