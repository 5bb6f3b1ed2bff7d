import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { ledgerSource, originOf } from '../../../../schemas/events/envelope.js';

/** The high-water marks of at least this number of subjects are stored for a partition, and of at most twice as many. */
const minSubjects = 5_000;

/**
 * Returns a predicate that detects repeats among the events of one partition, in order: sequences of an origin ascend, so
 * a sequence at or below the origin's high-water mark is a repeat. To bound memory, only the most recent marks of subjects
 * are stored, which suffices because a sender repeats only its last events.
 */
export const repeatsOfPartition = (
  limit: number = minSubjects,
): ((event: LinklogEvent) => boolean) => {
  const spools = new Map<string, number>();
  let recent = new Map<string, number>();
  let older = new Map<string, number>();

  const keep = (subject: string, sequence: number): void => {
    if (recent.size >= limit) {
      older = recent;
      recent = new Map();
    }
    recent.set(subject, sequence);
  };

  return (event) => {
    const { source, sequence } = event;
    const origin = originOf(event);
    const spooled = source !== ledgerSource;
    const highWaterMark = spooled ? spools.get(origin) : (recent.get(origin) ?? older.get(origin));
    if (sequence <= (highWaterMark ?? 0)) return true;
    if (spooled) spools.set(origin, sequence);
    else keep(origin, sequence);
    return false;
  };
};
