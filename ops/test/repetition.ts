import { failedTests } from './mocha-output.js';

/** The specs of one process. */
export interface Batch {
  readonly room: string;
  readonly name: string;
  /** Compiled specs, below `dist/`. */
  readonly files: readonly string[];
}

/** With more failed processes, the cause is not a busy machine. */
const mostLate = 12;

/** Folders and files of specs of exactness and of races: a rare failure would pass in the second run. */
export const exactPaths: readonly string[] = [
  'command-api/admission/',
  'command-api/keys/',
  'command-api/links/',
  'ops/ledger/',
  'ops/platform/concurrency/',
  'ops/event-log/',
  'ops/feed/',
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

/** Also unit specs: a property that fails for few seeds would pass with another seed. */
const isExact = (file: string): boolean => {
  const source = file.replace(/^dist\//, '').replace(/\.js$/, '.ts');
  return source.endsWith('.unit.spec.ts') || exactPaths.some((exact) => source.startsWith(exact));
};

/** The failed processes that run again. */
export const toRepeat = <Failed extends Batch>(failed: readonly Failed[]): readonly Failed[] => {
  const repeatable = failed.filter(({ files }) => !files.some(isExact));
  return repeatable.length <= mostLate ? repeatable : [];
};

/** The part of the final report about repeated processes. */
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
