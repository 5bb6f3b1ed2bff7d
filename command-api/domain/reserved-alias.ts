import { isDeceptive } from './deceptive-alias.js';
import { indexWords, readAlias } from './look-alike.js';

/** The words of the reserved list, in any case, with or without separators. */
export interface ReservedWords {
  readonly systemRoutes: readonly string[];
  readonly brands: readonly string[];
  readonly governments: readonly string[];
  readonly lures: readonly string[];
  readonly fillers: readonly string[];
}

export type Reservation = 'systemRoute' | 'brand' | 'government' | 'maliciousPattern';

/**
 * Why nobody may take an alias, or `null` where it is free. Whether an operator lets one account
 * take it all the same is the caller's to ask.
 */
export type FindReservation = (alias: string) => Reservation | null;

const isVersion = /^v\d+$/;

/** Routes, brands and governments are whole aliases; malicious patterns may be parts of one. */
export const reservedAliases = (words: ReservedWords): FindReservation => {
  const whole = (
    [
      ['systemRoute', words.systemRoutes],
      ['brand', words.brands],
      ['government', words.governments],
    ] as const
  ).map(([reservation, list]) => ({ reservation, index: indexWords(list) }));
  const deceptive = {
    names: indexWords([...words.brands, ...words.governments]),
    lures: indexWords(words.lures),
    fillers: indexWords(words.fillers),
  };

  return (alias) => {
    if (isVersion.test(alias.toLowerCase().replace(/[-_]/g, ''))) return 'systemRoute';
    const reading = readAlias(alias);
    const found = whole.find(({ index }) => index.has(reading, 0, reading.shape.length));
    if (found) return found.reservation;
    return isDeceptive(reading, deceptive) ? 'maliciousPattern' : null;
  };
};
