import { responseKinds, type ResponseKind, type Milliseconds } from './deadlines.js';
import { nameOf } from './faults.js';
import type { Count } from './log-counts.js';
import type { Latency, Outcome } from './stack-rounds.js';
import { sum } from './tally.js';
import { median } from '../support/median.js';

const table = (rows: readonly (readonly (string | number)[])[]): string => {
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => String(row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          typeof cell === 'number'
            ? String(cell).padStart(widths?.[column] ?? 0)
            : cell.padEnd(widths?.[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
};

const told = ({ p99Ms, count }: Latency): string => `p99 ${p99Ms.toFixed(1)} ms of ${count}`;

const worstOf = (those: Outcome['suffered']): Milliseconds => {
  const worst = (kind: ResponseKind): number =>
    Math.max(0, ...those.map(({ judgement }) => judgement.worst[kind]));
  return { API: worst('API'), edge: worst('edge'), 'cached link': worst('cached link') };
};

const toldOf = (ms: Milliseconds): string =>
  responseKinds.map((kind) => `${kind} ${Math.round(ms[kind])} ms`).join(', ');

const countLine = (what: string, { acknowledged, found, missing, unanswered }: Count): string =>
  `  ${what}: ${acknowledged}, found in the log: ${found} (${missing} missing; ${unanswered} more were not answered)`;

/** What was done and seen, for people. */
export const reportOf = (outcome: Outcome): string => {
  const { suffered, tally, records, repeats, counts, normal, brokerAway, tolerance, broken } =
    outcome;
  const kinds = [...new Set(suffered.map(({ fault }) => nameOf(fault)))].sort();
  const rows = kinds.map((kind) => {
    const those = suffered.filter(({ fault }) => nameOf(fault) === kind);
    const { created, visited, limited, apiRefused, edgeRefused, serverErrors, lost, lostVisits } =
      sum(those.map((one) => one.tally));
    const ready = those.map(({ readyMs }) => Math.round(readyMs));
    const well = those.map(({ wellMs }) => Math.round(wellMs));
    const worst = worstOf(those);
    return [
      ...[kind, those.length, median(ready), Math.max(...ready), median(well), Math.max(...well)],
      Math.round(Math.max(...those.map(({ withoutLinkMs }) => withoutLinkMs))),
      ...[created, visited, limited, apiRefused, lost, edgeRefused, lostVisits, serverErrors],
      those.reduce((count, { judgement }) => count + judgement.late.length, 0),
      ...responseKinds.map((asked) => Math.round(worst[asked])),
    ];
  });
  const header = [
    ...['fault', 'count', 'all ready, median ms', 'longest', 'links made, median ms', 'longest'],
    'no link, longest ms',
    ...['created', 'visited', 'limited', 'API 503', 'lost', 'edge 503', 'lost', '500'],
    ...['late', ...responseKinds.map((asked) => `worst ms, ${asked}`)],
  ];
  const late = suffered.filter(({ judgement }) => judgement.late.length > 0);
  return [
    'From each fault until the checks after it were through:',
    table([header, ...rows]),
    '',
    `faults: ${suffered.length}, after each of which everything acknowledged was looked for in the log`,
    `in all: ${tally.created} links created, ${tally.visited} visits redirected, ` +
      `${tally.limited} limited, ${tally.changed} changes, ` +
      `${tally.apiRefused + tally.edgeRefused} answers of 503, ${tally.serverErrors} of 500, ` +
      `${tally.lost + tally.lostVisits} lost`,
    `the log: ${records} records, ${repeats} of them repeats; of distinct ones, by source, subject and sequence:`,
    countLine('acknowledged links (201)', counts.links),
    countLine('acknowledged visits (302) of links without a limit', counts.visits),
    countLine('acknowledged clicks (302) of links with a limit', counts.limitedClicks),
    `  gaps in the sequences of ${counts.spools} spools and ${counts.subjects} subjects: ${counts.gaps}`,
    `visits of links in memory, between faults: ${told(normal)}; with the broker away: ${told(brokerAway)}`,
    `added to each deadline, the worst while nothing failed: ${toldOf(tolerance)}`,
    `faults with late answers: ${late.length}; the worst answers of all: ${toldOf(worstOf(suffered))}`,
    ...late.map(
      ({ fault, judgement }) =>
        `LATE: ${nameOf(fault)}: ${judgement.late.length} answers, such as ${judgement.late[0] ?? ''}`,
    ),
    `broken promises: ${broken.length}`,
    ...broken.map((promise) => `BROKEN: ${promise}`),
  ].join('\n');
};
