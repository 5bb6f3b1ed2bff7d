import { z } from 'zod';
import { notification } from '../platform/postgres/listener.js';
import type { Statement } from '../platform/postgres/statement.js';

/** A change that makes the caches of other processes outdated. */
const change = z.discriminatedUnion('kind', [
  /** The sequence of the event that says what was changed. */
  z.object({ kind: z.literal('link'), code: z.string().max(512), sequence: z.int().positive() }),
  z.object({ kind: z.literal('platform') }),
]);
export type Change = z.infer<typeof change>;

/** Notifies every process of changes, when and only if the deciding transaction commits. */
export const notifyChanges = (changes: readonly Change[]): readonly Statement[] =>
  changes.length === 0
    ? []
    : [
        notification(
          'linklog_changes',
          changes.map((change) => JSON.stringify(change)),
        ),
      ];

/** A change that was told of, or `null` for one that another version of us tells of. */
export const parseChange = (payload: string): Change | null => {
  try {
    return change.parse(JSON.parse(payload));
  } catch {
    return null;
  }
};
