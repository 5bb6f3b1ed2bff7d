import { nameOf } from './faults.js';
import type { Latency, Outcome } from './stack-rounds.js';
import { sum } from './tally.js';

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

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const told = ({ p99Ms, count }: Latency): string => `p99 ${p99Ms.toFixed(1)} ms of ${count}`;

/** What was done and seen, for people. */
export const reportOf = (outcome: Outcome): string => {
  const { suffered, tally, records, repeats, normal, brokerStopped, broken } = outcome;
  const kinds = [...new Set(suffered.map(({ fault }) => nameOf(fault)))].sort();
  const rows = kinds.map((kind) => {
    const those = suffered.filter(({ fault }) => nameOf(fault) === kind);
    const { created, visited, limited, apiErrors, edgeErrors, lost, lostVisits } = sum(
      those.map(({ meanwhile }) => meanwhile),
    );
    const ready = those.map(({ readyMs }) => Math.round(readyMs));
    return [
      ...[kind, those.length, median(ready), Math.max(...ready)],
      ...[created, visited, limited, apiErrors, lost, edgeErrors, lostVisits],
    ];
  });
  const header = [
    ...['fault', 'count', 'ready again, median ms', 'longest'],
    ...['created', 'visited', 'limited', 'API 5xx', 'lost', 'edge 5xx', 'lost'],
  ];
  return [
    'Until every node was ready again:',
    table([header, ...rows]),
    '',
    `faults: ${suffered.length}, after each of which everything acknowledged was looked for in the log`,
    `in all: ${tally.created} links created, ${tally.visited} visits redirected, ` +
      `${tally.limited} limited, ${tally.changed} changes by operators, ` +
      `${tally.apiErrors + tally.edgeErrors} answers of 5xx, ${tally.lost + tally.lostVisits} lost`,
    `the log: ${records} records, ${repeats} of them repeats`,
    `redirects between faults: ${told(normal)}; with the broker stopped: ${told(brokerStopped)}`,
    `broken promises: ${broken.length}`,
    ...broken.map((promise) => `BROKEN: ${promise}`),
  ].join('\n');
};
