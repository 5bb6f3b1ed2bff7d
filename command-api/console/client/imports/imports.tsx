import { useLocation, useRoute } from 'preact-iso/router';
import type { ImportListResponse, ImportResponse } from '../../../../schemas/http/imports.js';
import { formatTime } from '../../format.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { useApi, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { formatNames } from './labels.js';
import { NewImport } from './new-import.js';
import { Report, useImport } from './report.js';

const text = texts.imports;

const OneImport = ({ id }: { readonly id: string }) => {
  const { value, failure, reload } = useImport(id);
  /** The number of rows, which the check of the file has counted. */
  const total = Number(useLocation().query['rows'] ?? '') || null;
  return (
    <Page title={value?.dryRun === true ? text.checkOfFile : texts.app.import}>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <section class="card stack" aria-label={text.theImport}>
          <p class="soft">
            {value.endedAt === null
              ? text.started(formatTime(value.startedAt))
              : text.startedAndEnded(formatTime(value.startedAt), formatTime(value.endedAt))}
          </p>
          <Report value={value} total={total} onStopped={reload} />
        </section>
      )}
      <p>
        <a href="/console/imports">{text.toImports}</a>
      </p>
    </Page>
  );
};

export const ImportPage = () => {
  const { id = '' } = useRoute().params;
  // A new key resets the state for another import.
  return <OneImport key={id} id={id} />;
};

const badges: Readonly<Record<ImportResponse['status'], string>> = {
  running: 'pending',
  done: 'active',
  stopped: 'disabled',
  failed: 'failed',
};

const Row = ({ value }: { readonly value: ImportResponse }) => {
  const { id, startedAt, format, status, dryRun, created, existing, failed } = value;
  return (
    <tr>
      <td>
        <a href={`/console/imports/${id}`}>{formatTime(startedAt)}</a>
      </td>
      <td>{formatNames[format]}</td>
      <td>
        <span class={`badge ${badges[status]}`}>{text.status[status]}</span>{' '}
        {dryRun && <span class="badge">{text.check}</span>}
      </td>
      <td class="number">{formatNumber(created)}</td>
      <td class="number">{formatNumber(existing)}</td>
      <td class="number">{formatNumber(failed)}</td>
    </tr>
  );
};

const Table = ({ imports }: { readonly imports: readonly ImportResponse[] }) => (
  <ScrollTable
    label={text.tableOfImports}
    columns={[
      text.columns.started,
      text.columns.format,
      text.columns.status,
      { number: text.columns.created },
      { number: text.columns.existing },
      { number: text.columns.failed },
    ]}
  >
    {imports.map((value) => (
      <Row key={value.id} value={value} />
    ))}
  </ScrollTable>
);

export const Imports = () => {
  const loaded = useApi<ImportListResponse>('/v2/imports');
  useReloadOnReturn(loaded);
  const { value, failure, isLoading, reload } = loaded;
  return (
    <Page title={texts.app.import}>
      <NewImport onChecked={reload} />
      <section class="card stack" aria-label={text.earlier} aria-busy={isLoading}>
        <h2>{text.earlier}</h2>
        <Trouble failure={failure} onRetry={reload} />
        {value?.imports.length === 0 && <p class="soft">{text.none}</p>}
        {value !== undefined && value.imports.length > 0 && <Table imports={value.imports} />}
      </section>
    </Page>
  );
};
