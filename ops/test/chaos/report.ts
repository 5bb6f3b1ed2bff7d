import { responseKinds, type ResponseKind, type Milliseconds } from './deadlines.js';
import { nameOf } from './faults.js';
import type { Count } from './log-counts.js';
import type { Latency, Outcome } from './stack-rounds.js';
import { sum } from './tally.js';
import { median } from '../support/median.js';
import { markdownTable } from '../support/table.js';

const formatLatency = ({ p99Ms, count }: Latency): string =>
  `p99 ${p99Ms.toFixed(1)} ms of ${count}`;

const findWorst = (reports: Outcome['reports']): Milliseconds => {
  const worst = (kind: ResponseKind): number =>
    Math.max(0, ...reports.map(({ deadlines }) => deadlines.worst[kind]));
  return { API: worst('API'), edge: worst('edge'), 'cached link': worst('cached link') };
};

const formatMs = (ms: Milliseconds): string =>
  responseKinds.map((kind) => `${kind} ${Math.round(ms[kind])} ms`).join(', ');

const formatCount = (what: string, { acknowledged, found, missing, unanswered }: Count): string =>
  `  ${what}: ${acknowledged}, found in the log: ${found} (${missing} missing; ${unanswered} more without a response)`;

export const formatReport = (outcome: Outcome): string => {
  const { reports, tally, records, repeats, counts, normal, brokerAway, tolerance, broken } =
    outcome;
  const names = [...new Set(reports.map(({ fault }) => nameOf(fault)))].sort();
  const rows = names.map((name) => {
    const ofFault = reports.filter(({ fault }) => nameOf(fault) === name);
    const { created, visited, limited, apiRefused, edgeRefused, serverErrors, lost, lostVisits } =
      sum(ofFault.map((report) => report.tally));
    const ready = ofFault.map(({ readyMs }) => Math.round(readyMs));
    const creating = ofFault.map(({ creatingMs }) => Math.round(creatingMs));
    const worst = findWorst(ofFault);
    return [
      ...[name, ofFault.length, median(ready), Math.max(...ready)],
      ...[median(creating), Math.max(...creating)],
      Math.round(Math.max(...ofFault.map(({ withoutLinkMs }) => withoutLinkMs))),
      ...[created, visited, limited, apiRefused, lost, edgeRefused, lostVisits, serverErrors],
      ofFault.reduce((count, { deadlines }) => count + deadlines.late.length, 0),
      ...responseKinds.map((kind) => Math.round(worst[kind])),
    ];
  });
  const header = [
    ...['fault', 'count', 'all ready, median ms', 'longest', 'links created, median ms', 'longest'],
    'no link, longest ms',
    ...['created', 'visited', 'limited', 'API 503', 'lost', 'edge 503', 'lost', '500'],
    ...['late', ...responseKinds.map((kind) => `worst ms, ${kind}`)],
  ];
  const late = reports.filter(({ deadlines }) => deadlines.late.length > 0);
  return [
    'From each fault to the end of the checks after it:',
    markdownTable(header, rows),
    `faults: ${reports.length}, each followed by a check of all acknowledged requests in the log`,
    `total: ${tally.created} links created, ${tally.visited} visits redirected, ` +
      `${tally.limited} limited, ${tally.changed} changes, ` +
      `${tally.apiRefused + tally.edgeRefused} responses 503, ${tally.serverErrors} other 5xx, ` +
      `${tally.lost + tally.lostVisits} lost`,
    `the log: ${records} records, ${repeats} of them repeats; without repeats, by source, subject and sequence:`,
    formatCount('acknowledged links (201)', counts.links),
    formatCount('acknowledged visits (302) of links without a limit', counts.visits),
    formatCount('acknowledged clicks (302) of links with a limit', counts.limitedClicks),
    `  gaps in the sequences of ${counts.spools} spools and ${counts.subjects} subjects: ${counts.gaps}`,
    `visits of cached links between faults: ${formatLatency(normal)}; without the broker: ${formatLatency(brokerAway)}`,
    `tolerance of each deadline, the worst response time without a fault: ${formatMs(tolerance)}`,
    `faults with late responses: ${late.length}; the worst response times: ${formatMs(findWorst(reports))}`,
    ...late.map(
      ({ fault, deadlines }) =>
        `LATE: ${nameOf(fault)}: ${deadlines.late.length} responses, such as ${deadlines.late[0] ?? ''}`,
    ),
    `broken promises: ${broken.length}`,
    ...broken.map((promise) => `BROKEN: ${promise}`),
  ].join('\n');
};
