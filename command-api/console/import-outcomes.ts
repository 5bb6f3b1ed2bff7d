/** The outcomes of the rows of an import, read while they arrive. */
import type { ImportedRow, RowOutcome } from '../../schemas/http/imports.js';

const failures: ReadonlySet<RowOutcome> = new Set<RowOutcome>([
  ...(['conflict', 'invalid', 'reserved', 'unsafe', 'quota'] as const),
]);

export const isFailed = ({ outcome }: ImportedRow): boolean => failures.has(outcome);

/** Whether a row needs the attention of the user. */
export const isNotable = (row: ImportedRow): boolean => isFailed(row) || row.message !== null;

export const maxShownRows = 100;

/** The rows that are read to find those with a message. */
const maxScannedRows = 20_000;

export interface OutcomeSummary {
  /** The first rows that need attention. */
  readonly rows: readonly ImportedRow[];
  readonly failed: ReadonlyMap<RowOutcome, number>;
  readonly scanned: number;
}

export const emptySummary: OutcomeSummary = { rows: [], failed: new Map(), scanned: 0 };

export const addRow = (summary: OutcomeSummary, row: ImportedRow): OutcomeSummary => {
  const { rows, failed, scanned } = summary;
  const isShown = isNotable(row) && rows.length < maxShownRows;
  return {
    rows: isShown ? [...rows, row] : rows,
    failed: isFailed(row)
      ? new Map([...failed, [row.outcome, (failed.get(row.outcome) ?? 0) + 1]])
      : failed,
    scanned: scanned + 1,
  };
};

export const countFailed = ({ failed }: OutcomeSummary): number =>
  [...failed.values()].reduce((sum, count) => sum + count, 0);

/** Whether reading on would be too long, or would not change the summary. @param failed all failed rows of the import */
export const isSufficient = (summary: OutcomeSummary, failed: number): boolean =>
  summary.scanned >= maxScannedRows &&
  (summary.rows.length === maxShownRows || countFailed(summary) >= failed);

export const cellsOfRow = ({
  row,
  code,
  url,
  outcome,
  message,
}: ImportedRow): readonly string[] => [
  String(row),
  ...[code ?? '', url ?? '', outcome, message ?? ''],
];

export const outcomeColumns = ['row', 'code', 'url', 'outcome', 'message'] as const;
