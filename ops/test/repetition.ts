import { failedTests } from './mocha-output.js';

/** What one process runs. */
export interface Batch {
  readonly room: string;
  readonly name: string;
  /** Compiled specs, below `dist/`. */
  readonly files: readonly string[];
}

/** More failed processes than these were not late: something is wrong. */
const mostLate = 4;

/**
 * Folders and files of specs of exactness and of races. A race that fails one time in five would pass when
 * it is repeated, so these specs run once.
 */
export const exactPaths: readonly string[] = [
  'command-api/admission/',
  'command-api/keys/',
  'command-api/links/',
  'ops/ledger/',
  'ops/platform/concurrency/',
  'ops/event-log/',
  'ops/test/chaos/',
  'ops/test/e2e/idempotency.e2e.spec.ts',
  'ops/test/e2e/live-at-201.e2e.spec.ts',
  'ops/test/e2e/node-races.e2e.spec.ts',
  'ops/test/e2e/races.e2e.spec.ts',
  'ops/test/e2e/two-nodes.e2e.spec.ts',
  'projectors/runtime/',
  'projectors/statistics/',
  'redirect-edge/links/',
  'redirect-edge/spool/',
];

/** Unit specs too: a property that fails for some seeds only would pass with the seed of the repetition. */
const isExact = (file: string): boolean => {
  const source = file.replace(/^dist\//, '').replace(/\.js$/, '.ts');
  return source.endsWith('.unit.spec.ts') || exactPaths.some((exact) => source.startsWith(exact));
};

/** The failed processes that run once more. */
export const toRepeat = <Failed extends Batch>(failed: readonly Failed[]): readonly Failed[] => {
  const repeatable = failed.filter(({ files }) => !files.some(isExact));
  return repeatable.length <= mostLate ? repeatable : [];
};

/** The part of the final report about processes that were repeated; empty where there are none. */
export const firstFailures = (
  repeated: readonly (Batch & { readonly output: string })[],
): string => {
  const lines = repeated.flatMap(({ output, files }) => {
    const tests = failedTests(output);
    const noReport = { title: 'the process ended without a report', file: null };
    return (tests.length > 0 ? tests : [noReport]).map(
      ({ title, file }) => `  ${title} (${file ?? files.join(', ')})\n`,
    );
  });
  return lines.length === 0
    ? ''
    : `Failed before the repetition: ${lines.length}\n${lines.join('')}`;
};
