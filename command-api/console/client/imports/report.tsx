import { useEffect, useRef } from 'preact/hooks';
import type { ImportResponse } from '../../../../schemas/http/imports.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { type Loaded, useAction, useApi, useReloadOnReturn } from '../app/hooks.js';
import { Figures } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { formatNames } from './labels.js';
import { Outcomes } from './outcomes.js';

const { common, imports: text } = texts;

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
