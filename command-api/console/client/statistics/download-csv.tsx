import { toCsv } from '../../csv.js';
import { texts } from '../../texts.js';
import { saveFile } from '../components/save.js';

const text = texts.statistics;

interface Props {
  readonly fileName: string;
  /** For screen readers. */
  readonly title: string;
  readonly rowsOf: () => readonly (readonly string[])[];
}

/** Saves a list or the series, as shown. */
export const DownloadCsv = ({ fileName, title, rowsOf }: Props) => (
  <button
    type="button"
    class="quiet small"
    onClick={() => {
      saveFile(`${fileName}.csv`, new Blob([toCsv(rowsOf())], { type: 'text/csv' }));
    }}
  >
    {text.downloadCsv}
    <span class="unseen"> {text.ofList(title)}</span>
  </button>
);
