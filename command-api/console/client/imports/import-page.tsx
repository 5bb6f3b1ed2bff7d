import { useLocation, useRoute } from 'preact-iso/router';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { Page } from '../app/shell.js';
import { Trouble } from '../components/trouble.js';
import { Imports } from './imports.js';
import { Report } from './report.js';
import { useImport } from './use-import.js';

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

/** An import, which may be running. @param scopes those of the session's key */
export const ImportPage = ({ scopes }: { readonly scopes: readonly Scope[] }) => {
  const { id = '' } = useRoute().params;
  // A new key resets the state for another import.
  return scopes.includes('links:import') ? (
    <OneImport key={id} id={id} />
  ) : (
    <Imports scopes={scopes} />
  );
};
