import { toCsv } from '../../csv.js';
import { texts } from '../../texts.js';

const text = texts.statistics;

interface Props {
  readonly fileName: string;
  /** Read by screen readers. */
  readonly title: string;
  readonly rowsOf: () => readonly (readonly string[])[];
}

/** Saves a list or the series, as shown. */
export const DownloadCsv = ({ fileName, title, rowsOf }: Props) => (
  <button
    type="button"
    class="quiet small"
    onClick={() => saveFile(`${fileName}.csv`, new Blob([toCsv(rowsOf())], { type: 'text/csv' }))}
  >
    {text.downloadCsv}
    <span class="unseen"> {text.ofList(title)}</span>
  </button>
);

export const saveFile = (name: string, content: Blob): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has started by then in every browser.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
