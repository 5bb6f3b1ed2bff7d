import { z } from 'zod';
import { notify } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';

/** A change that makes the caches of other processes outdated. */
const change = z.discriminatedUnion('kind', [
  /** The sequence of the event that says what was changed. */
  z.object({ kind: z.literal('link'), code: z.string().max(512), sequence: z.int().positive() }),
  z.object({ kind: z.literal('platform') }),
]);
export type Change = z.infer<typeof change>;

/** Tells every process of changes, when and only if the deciding transaction commits. */
export const notifyChanges = async (tx: Queryable, changes: readonly Change[]): Promise<void> => {
  if (changes.length === 0) return;
  const payloads = changes.map((one) => JSON.stringify(one));
  await notify(tx, 'linklog_changes', payloads);
};

/** A change that was told of, or `null` for one that another version of us tells of. */
export const parseChange = (payload: string): Change | null => {
  try {
    return change.parse(JSON.parse(payload));
  } catch {
    return null;
  }
};
