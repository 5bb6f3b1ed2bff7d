import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { ledgerSource, originOf } from '../../../../schemas/events/envelope.js';

/** High-water marks of subjects kept for a partition: at least these, at most twice as many. */
const subjectsKept = 5_000;

/**
 * Returns whether an event is a repeat. Takes the events of one partition in their order. The sequences
 * of an origin ascend, so an event that is not above its origin's high-water mark was there before.
 *
 * Spools are few: all their marks are kept. Subjects are as many as links: to bound the memory, only
 * the marks of the subjects seen last are kept. That is enough, because a sender repeats only what it
 * was just sending. A repeat from longer ago would be reported as a new event; no event is ever lost.
 */
export const repeatsOfPartition = (
  kept: number = subjectsKept,
): ((event: LinklogEvent) => boolean) => {
  const spools = new Map<string, number>();
  let young = new Map<string, number>();
  let old = new Map<string, number>();

  const keep = (subject: string, sequence: number): void => {
    if (young.size >= kept) {
      old = young;
      young = new Map();
    }
    young.set(subject, sequence);
  };

  return (event) => {
    const { source, sequence } = event;
    const origin = originOf(event);
    const spooled = source !== ledgerSource;
    const highWaterMark = spooled ? spools.get(origin) : (young.get(origin) ?? old.get(origin));
    if (sequence <= (highWaterMark ?? 0)) return true;
    if (spooled) spools.set(origin, sequence);
    else keep(origin, sequence);
    return false;
  };
};
