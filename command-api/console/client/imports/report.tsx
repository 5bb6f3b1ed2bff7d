import { useEffect, useRef } from 'preact/hooks';
import { objectsOf } from '../../../../ops/clients/typescript/src/lines.js';
import type { ImportedRow, ImportResponse } from '../../../../schemas/http/imports.js';
import { toCsv } from '../../csv.js';
import {
  addRow,
  cellsOfRow,
  countFailed,
  emptySummary,
  isFailed,
  isNotable,
  isSufficient,
  maxShownRows,
  outcomeColumns,
  type OutcomeSummary,
} from '../../import-outcomes.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { callApi, openStream, type Result, withSession } from '../app/api.js';
import { type Loaded, useAction, useApi, useLoad, useReloadOnReturn } from '../app/hooks.js';
import { saveFile } from '../components/save.js';
import { Figures, ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { formatNames, outcomeNames } from './labels.js';

const { common, imports: text } = texts;

const outcomesPath = (id: string): string => `/v2/imports/${id}/rows`;

/** Reads the outcomes of an import while they arrive. @param onRow returns whether to read on */
const readOutcomes = async (
  id: string,
  onRow: (row: ImportedRow) => boolean,
): Promise<Result<null>> => {
  const opened = await withSession(() => openStream(outcomesPath(id)));
  if (!opened.ok) return opened;
  try {
    for await (const row of objectsOf<ImportedRow>(opened.value)) if (!onRow(row)) break;
    return { ok: true, value: null, status: opened.status };
  } catch {
    // The connection was lost.
    return { ok: false, failure: { kind: 'offline' } };
  }
};

const readSummary = async ({ id, failed }: ImportResponse): Promise<Result<OutcomeSummary>> => {
  let summary = emptySummary;
  const read = await readOutcomes(id, (row) => {
    summary = addRow(summary, row);
    return !isSufficient(summary, failed);
  });
  return read.ok ? { ...read, value: summary } : read;
};

const Row = ({ row }: { readonly row: ImportedRow }) => (
  <tr>
    <td class="number">{formatNumber(row.row)}</td>
    <td>
      <bdi>{row.code}</bdi>
    </td>
    <td class="clip">
      <bdi>{row.url}</bdi>
    </td>
    <td class={isFailed(row) ? 'bad' : undefined}>{outcomeNames[row.outcome]}</td>
    <td>
      <bdi>{row.message}</bdi>
    </td>
  </tr>
);

const Table = ({ rows }: { readonly rows: readonly ImportedRow[] }) => (
  <ScrollTable
    label={text.tableOfRows}
    columns={[{ number: common.line }, text.code, common.destination, text.outcome, text.message]}
  >
    {rows.map((row, index) => (
      <Row key={index} row={row} />
    ))}
  </ScrollTable>
);

const Downloads = ({ id }: { readonly id: string }) => {
  const { isBusy, failure, run } = useAction();
  const save = async (): Promise<void> => {
    const table: (readonly string[])[] = [outcomeColumns];
    const read = await run(() =>
      readOutcomes(id, (row) => {
        if (isNotable(row)) table.push(cellsOfRow(row));
        return true;
      }),
    );
    if (read) saveFile(`import-${id}.csv`, new Blob([toCsv(table)], { type: 'text/csv' }));
  };
  return (
    <>
      <div class="row">
        <a class="button" href={`/console${outcomesPath(id)}`} download={`import-${id}.jsonl`}>
          {text.downloadOutcomes}
        </a>
        <button type="button" aria-disabled={isBusy} onClick={() => void save()}>
          {text.saveRows}
        </button>
      </div>
      <Trouble failure={failure} />
    </>
  );
};

/** The rows of an ended import that failed or have a message. */
const Outcomes = ({ ended }: { readonly ended: ImportResponse }) => {
  const { value, failure, isLoading, reload } = useLoad(() => readSummary(ended), ended.id);
  if (!value) return <Trouble failure={failure} onRetry={reload} />;
  const counts = [...value.failed].map(
    ([outcome, count]) => `${formatNumber(count)} ${outcomeNames[outcome]}`,
  );
  return (
    <div class="stack" aria-busy={isLoading}>
      {counts.length > 0 && countFailed(value) === ended.failed && (
        <p>{text.failedRows(counts.join(', '))}</p>
      )}
      {value.rows.length > 0 && <Table rows={value.rows} />}
      {value.rows.length === maxShownRows && <p class="hint">{text.firstRows(maxShownRows)}</p>}
      <Downloads id={ended.id} />
    </div>
  );
};

/** The pause between two calls grows, because each one counts toward the limits of the key (ms). */
const firstPauseMs = 500;
const longestPauseMs = 10_000;
const growth = 1.25;

/** Loads an import again and again while it runs and the page is visible. */
export const useImport = (id: string): Loaded<ImportResponse> => {
  const loaded = useApi<ImportResponse>(`/v2/imports/${id}`);
  useReloadOnReturn(loaded);
  const { value, failure, isLoading, reload } = loaded;
  const pauseMs = useRef(firstPauseMs);
  const isRunning = value?.status === 'running';
  useEffect(() => {
    if (isLoading || !isRunning) return undefined;
    const wait = failure?.kind === 'wait' ? failure.seconds * 1_000 : pauseMs.current;
    pauseMs.current = Math.min(longestPauseMs, pauseMs.current * growth);
    const timer = setTimeout(() => {
      // A hidden page continues when the user returns.
      if (document.visibilityState === 'visible') reload();
    }, wait);
    return () => clearTimeout(timer);
  }, [isLoading, isRunning, failure, reload]);
  return loaded;
};

const statusOf = ({ dryRun, status, format }: ImportResponse): string => {
  const name = formatNames[format];
  switch (status) {
    case 'running':
      return (dryRun ? text.checking : text.running)(name);
    case 'done':
      return (dryRun ? text.checked : text.ended)(name);
    case 'stopped':
      return dryRun ? text.checkStopped : text.stopped;
    case 'failed':
      return dryRun ? text.wouldFail : text.failed;
  }
};

const Progress = ({ rows, total }: { readonly rows: number; readonly total: number | null }) => (
  <label class="field">
    <span>{total === null ? text.rows(rows) : text.rowsOf(rows, total)}</span>
    {total === null ? <progress /> : <progress max={Math.max(1, total)} value={rows} />}
  </label>
);

const Counts = ({ value }: { readonly value: ImportResponse }) => {
  const { dryRun, created, existing, failed, visits } = value;
  return (
    <Figures
      figures={[
        [dryRun ? text.toCreate : common.created, formatNumber(created)],
        [text.existAlready, formatNumber(existing)],
        [dryRun ? text.rowsWouldFail : text.rowsFailed, formatNumber(failed)],
        ...(visits > 0 ? [[text.visits, formatNumber(visits)] as const] : []),
      ]}
    />
  );
};

interface Props {
  readonly value: ImportResponse;
  /** The rows of the file; `null`: not known. */
  readonly total: number | null;
  readonly onStopped: () => void;
}

/** The progress of an import or of a check, and its result. */
export const Report = ({ value, total, onStopped }: Props) => {
  const { isBusy, failure, run } = useAction();
  const status = useRef<HTMLParagraphElement>(null);
  const stop = async (): Promise<void> => {
    if (!(await run(() => callApi(`/v2/imports/${value.id}`, { method: 'DELETE' })))) return;
    // The button is removed.
    status.current?.focus();
    onStopped();
  };
  const isRunning = value.status === 'running';
  return (
    <>
      <p role="status" tabIndex={-1} ref={status}>
        {statusOf(value)}
      </p>
      {isRunning && <Progress rows={value.rows} total={total} />}
      <Counts value={value} />
      {value.ignoredColumns.length > 0 && (
        <p>
          {text.ignoredColumns} <bdi>{value.ignoredColumns.join(', ')}</bdi>
        </p>
      )}
      {value.error !== null && <p class="bad">{value.error}</p>}
      {isRunning && (
        <button type="button" aria-disabled={isBusy} onClick={() => void stop()}>
          {text.stop}
        </button>
      )}
      <Trouble failure={failure} />
      {!isRunning && <Outcomes ended={value} />}
    </>
  );
};
