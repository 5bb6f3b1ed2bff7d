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

/** One visit on its way to the log. */
export interface ShippedRecord {
  /** The event's subject, the short code. */
  readonly key: string;
  /** The event as `writeEvent` gives it. */
  readonly value: string;
  /** The event's number in its spool. */
  readonly sequence: number;
}

/**
 * Appends records to the log's topic of visits. Resolves when the log has all of them for good.
 * Whatever it rejects with, the same records are offered again: the log may see repeats, never a
 * gap. The batches of one spool come one after the other; those of two spools may overlap.
 */
export type Ship = (records: readonly ShippedRecord[]) => Promise<void>;
