import type { Scope } from '../../../../schemas/scopes.js';
import { formatTime } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import { callApi } from '../app/api.js';
import { useLoad, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { Import, ImportList } from '../app/types.js';
import { Trouble } from '../components/trouble.js';
import { ScrollTable } from '../components/scroll-table.js';
import { formatNames } from './labels.js';
import { NewImport } from './new-import.js';

const badges: Readonly<Record<Import['status'], string>> = {
  running: 'pending',
  done: 'active',
  stopped: 'disabled',
  failed: 'failed',
};

const Row = ({ value }: { readonly value: Import }) => {
  const { id, startedAt, format, status, dryRun, created, existing, failed } = value;
  return (
    <tr>
      <td>
        <a href={`/console/imports/${id}`}>{formatTime(startedAt)}</a>
      </td>
      <td>{formatNames[format]}</td>
      <td>
        <span class={`badge ${badges[status]}`}>{status}</span>{' '}
        {dryRun && <span class="badge">check</span>}
      </td>
      <td class="number">{formatNumber(created)}</td>
      <td class="number">{formatNumber(existing)}</td>
      <td class="number">{formatNumber(failed)}</td>
    </tr>
  );
};

const Table = ({ imports }: { readonly imports: readonly Import[] }) => (
  <ScrollTable
    label="Table of imports"
    columns={[
      'Started',
      'Format',
      'Status',
      { number: 'Created' },
      { number: 'Existing' },
      { number: 'Failed' },
    ]}
  >
    {imports.map((value) => (
      <Row key={value.id} value={value} />
    ))}
  </ScrollTable>
);

const FormAndList = () => {
  const loaded = useLoad(() => callApi<ImportList>('/v2/imports'), '');
  useReloadOnReturn(loaded);
  const { value, failure, isLoading, reload } = loaded;
  return (
    <>
      <NewImport onChecked={reload} />
      <section class="card stack" aria-label="Earlier imports" aria-busy={isLoading}>
        <h2>Earlier imports</h2>
        <Trouble failure={failure} onRetry={reload} />
        {value?.imports.length === 0 && <p class="soft">This account has no imports yet.</p>}
        {value !== undefined && value.imports.length > 0 && <Table imports={value.imports} />}
      </section>
    </>
  );
};

/** Imports a file, and lists earlier imports. @param scopes those of the session's key */
export const Imports = ({ scopes }: { readonly scopes: readonly Scope[] }) => (
  <Page title="Import">
    {scopes.includes('links:import') ? (
      <FormAndList />
    ) : (
      <p>The key of this session cannot import links.</p>
    )}
  </Page>
);
