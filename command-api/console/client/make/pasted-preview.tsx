import { formatNumber } from '../../numbers.js';
import type { PastedRow, PastedText } from '../../pasted-links.js';
import { ScrollTable } from '../components/scroll-table.js';

/** The number of lines that the preview shows. */
const maxShown = 100;

const delimiterNames: Readonly<Record<string, string>> = {
  '\t': 'tabs',
  ';': 'semicolons',
  ',': 'commas',
  ' ': 'spaces',
};

const Row = ({ row }: { readonly row: PastedRow }) => (
  <tr>
    <td class="number">{formatNumber(row.row)}</td>
    {row.type === 'invalid' ? (
      <td colSpan={4} class="bad">
        {row.message} It is left out.
      </td>
    ) : (
      <>
        <td class="clip">
          <bdi>{row.link.url}</bdi>
        </td>
        <td>
          {row.link.alias === null ? (
            <span class="soft">generated</span>
          ) : (
            <bdi>{row.link.alias}</bdi>
          )}
        </td>
        <td>
          <bdi>{row.link.title}</bdi>
        </td>
        <td>
          <bdi>{row.link.tags.join(', ')}</bdi>
        </td>
      </>
    )}
  </tr>
);

interface Props {
  readonly pasted: PastedText;
  readonly isPlain: boolean;
  readonly onPlain: (isPlain: boolean) => void;
}

/** The links that the lines of a text become. */
export const PastedPreview = ({ pasted, isPlain, onPlain }: Props) => {
  const { rows, delimiter, unusedColumns, unnamedColumns } = pasted;
  if (rows.length === 0) return null;
  return (
    <>
      {(delimiter !== null || isPlain) && (
        <label class="check">
          <input
            type="checkbox"
            checked={isPlain}
            onChange={(event) => {
              onPlain(event.currentTarget.checked);
            }}
          />
          Each line is one URL
        </label>
      )}
      <p role="status">
        {delimiter !== null &&
          `Columns with ${delimiterNames[delimiter] ?? delimiter} between them. `}
        {unusedColumns.length > 0 && `Not used: ${unusedColumns.join(', ')}. `}
        {unnamedColumns > 0 &&
          `The lines seem to have ${unnamedColumns} columns. A first line with their names separates them: url, code, title, tags. `}
      </p>
      <ScrollTable
        label="Preview"
        columns={[{ number: 'Line' }, 'Destination', 'Alias', 'Title', 'Tags']}
        isPreview
      >
        {rows.slice(0, maxShown).map((row) => (
          <Row key={row.row} row={row} />
        ))}
      </ScrollTable>
      {rows.length > maxShown && (
        <p class="hint">The preview shows the first {formatNumber(maxShown)} lines.</p>
      )}
    </>
  );
};
