import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { ledgerSource, originOf } from '../../../../schemas/events/envelope.js';
import { BoundedMap } from '../../../platform/collections.js';

/** Subjects of a partition whose high-water marks are stored. */
const maxSubjects = 10_000;

/**
 * Returns a predicate that detects repeats among the events of one partition, in order: sequences of an origin ascend, so
 * a sequence at or below the origin's high-water mark is a repeat. To bound memory, only the most recent marks of subjects
 * are stored, which suffices because a sender repeats only its last events.
 */
export const repeatsOfPartition = (limit = maxSubjects): ((event: LinklogEvent) => boolean) => {
  const spools = new Map<string, number>();
  const subjects = new BoundedMap<string, number>(limit);
  return (event) => {
    const origin = originOf(event);
    const marks = event.source === ledgerSource ? subjects : spools;
    if (event.sequence <= (marks.get(origin) ?? 0)) return true;
    marks.set(origin, event.sequence);
    return false;
  };
};
