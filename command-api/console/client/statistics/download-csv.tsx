import { callApi } from '../app/api.js';
import { useAction } from '../app/hooks.js';
import { saveFile } from '../components/save.js';
import { Trouble } from '../components/trouble.js';

interface Props {
  /** Names the file. */
  readonly include: string;
  /** For screen readers. */
  readonly title: string;
  readonly path: string;
}

/** Saves a list or the series. A link cannot request CSV, because its `Accept` is the browser's. */
export const DownloadCsv = ({ include, title, path }: Props) => {
  const { isBusy, failure, run } = useAction();
  const save = async (): Promise<void> => {
    const headers = { Accept: 'text/csv' };
    const done = await run(() => callApi<Blob>(path, { as: 'blob', headers }));
    if (done) saveFile(`${include}.csv`, done.value);
  };
  return (
    <>
      <button type="button" class="quiet small" disabled={isBusy} onClick={() => void save()}>
        Download CSV<span class="unseen"> of {title}</span>
      </button>
      <Trouble failure={failure} />
    </>
  );
};
