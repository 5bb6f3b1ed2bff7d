import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { ledgerSource, originOf } from '../../../../schemas/events/envelope.js';

/** The minimum number of subjects of a partition whose high-water marks are kept; the maximum is twice as many. */
const subjectsKept = 5_000;

/**
 * Returns a predicate for the events of one partition, in order, that tells whether an event is a repeat. The sequences
 * of an origin ascend, so a sequence at or below the origin's high-water mark is a repeat.
 *
 * The marks of all spools are kept, because spools are few. Of subjects, only the most recent marks are kept, to bound
 * memory. They suffice, because a sender repeats only its last events. An older repeat would count as a new event.
 */
export const repeatsOfPartition = (
  kept: number = subjectsKept,
): ((event: LinklogEvent) => boolean) => {
  const spools = new Map<string, number>();
  let recent = new Map<string, number>();
  let older = new Map<string, number>();

  const keep = (subject: string, sequence: number): void => {
    if (recent.size >= kept) {
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
