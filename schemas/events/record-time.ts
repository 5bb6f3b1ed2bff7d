import { importIdOf, type Envelope } from './envelope.js';
import { millisecondsOf } from './timestamp.js';

/** A UUIDv7, which begins with its time in milliseconds since 1970. */
const uuidv7 = /^([\da-f]{8})-([\da-f]{4})-7/;

/** The time of a UUIDv7 in milliseconds since 1970; `null` for another id. */
export const timeOfUuid = (id: string): number | null => {
  const found = uuidv7.exec(id);
  return found && Number.parseInt(`${found[1]}${found[2]}`, 16);
};

/**
 * About when an event was appended to the log, in milliseconds since 1970. Visits of an import may be years older than
 * their records, so they have the time of the import, which its id contains.
 */
export const recordTimeOf = ({ source, time }: Pick<Envelope, 'source' | 'time'>): number => {
  const importId = importIdOf(source);
  return (importId === null ? null : timeOfUuid(importId)) ?? millisecondsOf(time);
};
