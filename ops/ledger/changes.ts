import { z } from 'zod';
import { notification } from '../platform/postgres/listener.js';
import type { Statement } from '../platform/postgres/statement.js';

/** A change that invalidates the caches of other processes. */
const change = z.discriminatedUnion('kind', [
  /** `sequence` is that of the event. */
  z.object({
    kind: z.literal('link'),
    subject: z.string().max(1_024),
    sequence: z.int().positive(),
  }),
  z.object({ kind: z.literal('domain'), domain: z.string().max(253) }),
  z.object({ kind: z.literal('platform') }),
]);
export type Change = z.infer<typeof change>;

/** Notifies every process if the transaction commits. */
export const notifyChanges = (changes: readonly Change[]): readonly Statement[] =>
  changes.length === 0
    ? []
    : [
        notification(
          'linklog_changes',
          changes.map((change) => JSON.stringify(change)),
        ),
      ];

/** Parses a notification; `null` if it is of another version of Linklog. */
export const parseChange = (payload: string): Change | null => {
  try {
    return change.parse(JSON.parse(payload));
  } catch {
    return null;
  }
};
