import { isCountry } from '../../schemas/countries.js';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { EventLog, NewRecord } from '../../ops/event-log/port.js';
import { agentOf } from '../../ops/visitors/agents.js';
import { referrerOf } from '../../ops/visitors/visit-data.js';
import { importSource } from '../../schemas/events/envelope.js';
import { maxPortion, writeSpooledVisit } from '../../schemas/events/spooled-visit.js';
import { topics } from '../../schemas/events/topics.js';
import { storageFault, type SourceVisit } from './formats/records.js';

export interface ImportedVisit {
  readonly subject: string;
  readonly account: string;
  readonly importId: string;
  /** Unique in the import, and the same in each attempt to append the visit. */
  readonly sequence: number;
  readonly visit: SourceVisit;
}

/** The World Wide Web began in this year. */
const firstYear = '1990';

/** The longest code of a visit, in characters: the index has no room for longer ones. */
const maxVisitCode = 500;

/** Why a visit cannot be imported; `null` if it can. A visit in the future would count as later than all others. */
export const visitFault = ({ code, time }: SourceVisit, now: Date): string | null => {
  const isCode = code.length <= maxVisitCode && storageFault(code) === null;
  if (!isCode) return 'No link can have the code of the visit.';
  if (time > now.toISOString()) return 'The visit is in the future.';
  return time < firstYear ? `The visit is before ${firstYear}.` : null;
};

type IsOwnHost = (url: URL) => boolean;

/** The host of a referrer, which may be a host without a scheme. */
const referrerHost = (referrer: string, isOwnHost: IsOwnHost): string | null =>
  referrerOf(referrer.includes('://') ? referrer : `https://${referrer}`, isOwnHost);

/** The LinkVisited event of an imported visit, as JSON. Its id is its sequence, which is unique in its source. */
export const writeImportedVisit = (imported: ImportedVisit, isOwnHost: IsOwnHost): string => {
  const { subject, account, importId, sequence, visit } = imported;
  const { time, country, referrer, userAgent } = visit;
  const data = {
    country: country !== null && isCountry(country) ? country : null,
    referrer: referrer === null ? null : referrerHost(referrer, isOwnHost),
    language: null,
    visitor: null,
    trigger: null,
    version: null,
    target: null,
    code: null,
    campaign: null,
    ...agentOf(userAgent ?? '').data,
    // The source has counted it as a click, so that its numbers stay.
    bot: false,
  };
  const at = Date.parse(time);
  const written = { subject, account, at, requestId: undefined, data };
  return writeSpooledVisit(written, importSource(importId), sequence);
};

/** Visits that are written in one event-loop iteration: 2 ms if all user agents are new. */
const visitsPerIteration = 50;

const recordsOf = async (
  visits: readonly ImportedVisit[],
  isOwnHost: IsOwnHost,
): Promise<readonly NewRecord[]> => {
  const records: NewRecord[] = [];
  for (const [index, visit] of visits.entries()) {
    if (index > 0 && index % visitsPerIteration === 0) await nextIteration();
    records.push({ key: visit.subject, value: writeImportedVisit(visit, isOwnHost) });
  }
  return records;
};

/**
 * Appends visits of one import, whose sequences must ascend, also across calls. After a failure or a crash, the caller
 * appends them again from any sequence that it has appended: readers drop repeats. Resolves when all are durable.
 */
export const appendVisits = async (
  log: Pick<EventLog, 'append'>,
  visits: readonly ImportedVisit[],
  isOwnHost: IsOwnHost,
): Promise<void> => {
  // In sequence, because readers drop a visit that another one of a higher sequence has overtaken.
  for (let from = 0; from < visits.length; from += maxPortion) {
    const records = await recordsOf(visits.slice(from, from + maxPortion), isOwnHost);
    await log.append(topics.visits.name, records);
  }
};
