import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { ledgerSource, originOf } from '../../../../schemas/events/envelope.js';

/** Subjects that a partition's marks are kept of at least; twice as many at most. */
const subjectsKept = 5_000;

/**
 * Tells repeats from first occurrences, for the events of one partition in their order: first
 * occurrences of an origin ascend, so what is not above its highWaterMark was there before.
 *
 * Spools are few, and their marks are all kept. Subjects are as many as links: only the marks of those
 * seen last are kept, for the memory's sake. That is enough, since a sender repeats only what it had
 * under way; and a repeat from longer ago would be told twice, while nothing is ever left out.
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
