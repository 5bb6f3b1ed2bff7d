import type { LogCopy } from './log-copy.js';
import type { PromisedLink, Promises } from './promises.js';

/** Acknowledged requests, and their events in the log, without repeats. */
export interface Count {
  readonly acknowledged: number;
  readonly found: number;
  /** Acknowledged, but not in the log. */
  readonly missing: number;
  /** Requests without a response: their events may be in the log or not. */
  readonly unanswered: number;
}

export interface LogCounts {
  /** Responses 201. */
  readonly links: Count;
  /** Responses 302 of links without a limit. */
  readonly visits: Count;
  /** Responses 302 of links with a limit. */
  readonly limitedClicks: Count;
  /** Sources of visits, and subjects of other events. */
  readonly spools: number;
  readonly subjects: number;
  /** Missing sequence numbers of all spools and subjects. */
  readonly gaps: number;
}

const countVisits = (links: readonly PromisedLink[], log: LogCopy): Count => {
  const count = { acknowledged: 0, found: 0, missing: 0, unanswered: 0 };
  for (const { code, redirected, unanswered } of links) {
    const found = log.visits.get(code)?.length ?? 0;
    count.acknowledged += redirected;
    count.found += found;
    count.missing += Math.max(0, redirected - found);
    count.unanswered += unanswered;
  }
  return count;
};

/** Counts the records of the log by source, subject and sequence, without a read model. */
export const countLog = ({ links, openCreations }: Promises, log: LogCopy): LogCounts => {
  const found = links.filter(({ code }) =>
    (log.linkEvents.get(code) ?? []).some(({ event }) => event.type === 'linklog.LinkCreated.v4'),
  ).length;
  const origins = log.origins();
  const spools = origins.filter(({ isSpool }) => isSpool).length;
  return {
    links: {
      ...{ acknowledged: links.length, found, missing: links.length - found },
      unanswered: openCreations.length,
    },
    visits: countVisits(
      links.filter(({ maxClicks }) => maxClicks === null),
      log,
    ),
    limitedClicks: countVisits(
      links.filter(({ maxClicks }) => maxClicks !== null),
      log,
    ),
    spools,
    subjects: origins.length - spools,
    gaps: origins.reduce((sum, { gaps }) => sum + gaps, 0),
  };
};
