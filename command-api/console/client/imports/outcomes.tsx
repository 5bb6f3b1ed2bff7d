import type { ImportedRow, ImportResponse } from '../../../../schemas/http/imports.js';
import { toCsv } from '../../csv.js';
import {
  addRows,
  cellsOfRow,
  countFailed,
  emptySummary,
  isFailed,
  isNotable,
  isSufficient,
  maxShownRows,
  outcomeColumns,
  OutcomeParser,
  type OutcomeSummary,
} from '../../import-outcomes.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';
import { openStream, type Result, withSession } from '../app/api.js';
import { useAction, useLoad } from '../app/hooks.js';
import { saveFile } from '../components/save.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { outcomeNames } from './labels.js';

const { common, imports: text } = texts;

const outcomesPath = (id: string): string => `/v2/imports/${id}/rows`;

/**
 * Reads the outcomes of an import while they arrive.
 *
 * @param onRows returns whether to read on
 */
const readOutcomes = async (
  id: string,
  onRows: (rows: readonly ImportedRow[]) => boolean,
): Promise<Result<null>> => {
  const connection = new AbortController();
  const opened = await withSession(() => openStream(outcomesPath(id), {}, connection.signal));
  if (!opened.ok) return opened;
  const parser = new OutcomeParser();
  const reader = opened.value.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || !onRows(parser.push(value))) break;
    }
    return { ok: true, value: null, status: opened.status };
  } catch {
    // The connection was lost.
    return { ok: false, failure: { kind: 'offline' } };
  } finally {
    connection.abort();
  }
};

const readSummary = async ({ id, failed }: ImportResponse): Promise<Result<OutcomeSummary>> => {
  let summary = emptySummary;
  const read = await readOutcomes(id, (rows) => {
    summary = addRows(summary, rows);
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
      readOutcomes(id, (rows) => {
        for (const row of rows) if (isNotable(row)) table.push(cellsOfRow(row));
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
export const Outcomes = ({ ended }: { readonly ended: ImportResponse }) => {
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
