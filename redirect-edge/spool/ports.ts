/** What the spool needs of the world around it; the composition root hands it in. */

/** Held by one live process at a time; a process that is gone holds nothing. */
export interface FolderLock {
  release(): void;
}

/**
 * Locks a folder for this process, waiting at most `waitMs`.
 *
 * @throws an error whose `code` is `LOCK_HELD` while a live process, this one included, has it.
 */
export type AcquireLock = (
  folder: string,
  options?: { readonly waitMs?: number },
) => Promise<FolderLock>;

/** One visit as the spool holds it. */
export interface SpoolRecord {
  /** The event's subject, the short code. */
  readonly key: string;
  /** The event as `writeEvent` gives it. */
  readonly value: string;
  /** The event's number in its spool. */
  readonly sequence: number;
}

/** What of a chunk the log has. */
export interface Shipped {
  /** How many records, from the chunk's beginning. */
  readonly records: number;
  /** Bytes that they take. */
  readonly bytes: number;
  /** The last one's number in its spool; 0 for none. */
  readonly through: number;
}

/**
 * Appends the records at the beginning of a chunk of a spool's file to the log's topic of visits: as
 * many as it likes, none only where the first one is damaged. Resolves when the log has them for
 * good. The chunk is shared memory, so that another thread may do it, and is not changed before that.
 * Whatever it rejects with, the same chunk is offered again: the log may see repeats, never a gap.
 * The chunks of one spool come one after the other; those of two spools may overlap.
 */
export type Ship = (chunk: Buffer) => Promise<Shipped>;
