/** Compares statistics after an import with counts of the rows of its dump. */
import { sendRequest } from '../support/http.js';
import { firstDay, yourlsDump, type DumpedVisit } from '../support/import-files.js';
import { eventually } from '../support/waiting.js';
import type { FeedTarget } from './feed-target.js';
import { account, bearer, countBy, finalMs, importsAtEnd, readText } from './import-client.js';

interface Counts {
  readonly period: { readonly clickCount: number };
  readonly countries: readonly { readonly value: string | null; readonly clicks: number }[];
  readonly timeseries: readonly { readonly start: string; readonly clicks: number }[];
}

/** The links whose statistics are compared: those with the most visits. */
const comparedLinks = 20;

const dayMs = 86_400_000;
const dayAfter = (day: string): string =>
  new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10);

/** Counts of visits in the form that the statistics are compared in. */
const expectedOf = (visits: readonly DumpedVisit[]): string => {
  const countries = [...countBy(visits, ({ country }) => country ?? '?')].sort();
  const days = [...countBy(visits, ({ day }) => day)].sort();
  return JSON.stringify({ clicks: visits.length, countries, days });
};

const foundOf = ({ period, countries, timeseries }: Counts): string =>
  JSON.stringify({
    clicks: period.clickCount,
    countries: countries.map(({ value, clicks }) => [value ?? '?', clicks]).sort(),
    days: timeseries
      .filter(({ clicks }) => clicks > 0)
      .map(({ start, clicks }) => [start.slice(0, 10), clicks]),
  });

/** Imports a dump of YOURLS. @returns the differences between its rows and the statistics */
export const compareCounts = async (
  target: FeedTarget,
  options: Parameters<typeof yourlsDump>[0],
): Promise<readonly string[]> => {
  const { text, links, visits } = yourlsDump(options);
  const key = await target.createKey(account);
  const response = await sendRequest(`${target.apis()[0]}/v2/imports?visits=1`, {
    method: 'POST',
    headers: bearer(key),
    body: text,
    timeoutMs: finalMs,
  });
  if (response.status !== 202) throw new Error(`${response.status} ${response.text}`);
  const [imported] = await importsAtEnd(target, key);
  const different: string[] = [];
  const outcome = `${imported?.status} ${imported?.created} ${imported?.visits}`;
  if (outcome !== `done ${links.length} ${visits.length}`) different.push(outcome);

  const lastDay = new Date(Date.parse(firstDay) + options.days * dayMs).toISOString().slice(0, 10);
  const readCounts = async (path: string, from: string, to: string): Promise<Counts> => {
    const query = `include=countries,timeseries&limit=200&from=${from}&to=${to}`;
    return JSON.parse(await readText(target, `${path}?${query}`, key)) as Counts;
  };
  const compare = async (
    path: string,
    from: string,
    to: string,
    rows: readonly DumpedVisit[],
  ): Promise<void> => {
    const [found, expected] = [foundOf(await readCounts(path, from, to)), expectedOf(rows)];
    if (found !== expected) different.push(`${path} from ${from} has ${found}, not ${expected}`);
  };
  const isCounted = async (): Promise<boolean> => {
    const { period } = await readCounts('/v2/stats', firstDay, lastDay);
    return period.clickCount >= visits.length;
  };
  await eventually('the visits are counted', isCounted, finalMs);
  await compare('/v2/stats', firstDay, lastDay, visits);
  for (const day of new Set(visits.map((visit) => visit.day))) {
    const rows = visits.filter((visit) => visit.day === day);
    await compare('/v2/stats', day, dayAfter(day), rows);
  }
  for (const { code } of links.slice(0, comparedLinks)) {
    const rows = visits.filter((visit) => visit.code === code);
    await compare(`/v2/stats/${code}`, firstDay, lastDay, rows);
  }
  return different;
};
