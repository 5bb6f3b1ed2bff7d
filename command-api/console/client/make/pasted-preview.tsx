import { formatNumber } from '../../numbers.js';
import type { PastedRow, PastedText } from '../../pasted-links.js';
import { texts } from '../../texts.js';
import { Check } from '../components/field.js';
import { ScrollTable } from '../components/scroll-table.js';

/** The number of lines that the preview shows. */
const maxShown = 100;

const { common, make: text } = texts;

const delimiterNames: Readonly<Record<string, string>> = text.delimiters;

const Row = ({ row }: { readonly row: PastedRow }) => (
  <tr>
    <td class="number">{formatNumber(row.row)}</td>
    {row.type === 'invalid' ? (
      <td colSpan={4} class="bad">
        {row.message} {text.leftOut}
      </td>
    ) : (
      <>
        <td class="clip">
          <bdi>{row.link.url}</bdi>
        </td>
        <td>
          {row.link.alias === null ? (
            <span class="soft">{text.generated}</span>
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
  const { rows, delimiter, unusedColumns, assumedColumns, unnamedColumns } = pasted;
  if (rows.length === 0) return null;
  return (
    <>
      {(delimiter !== null || isPlain) && (
        <Check checked={isPlain} onChecked={onPlain} label={text.eachLineIsUrl} />
      )}
      <p role="status">
        {[
          ...(delimiter === null
            ? []
            : [text.columnsBetween(delimiterNames[delimiter] ?? delimiter)]),
          ...(assumedColumns.length > 0 ? [text.assumedColumns(assumedColumns.join(', '))] : []),
          ...(unusedColumns.length > 0 ? [text.unused(unusedColumns.join(', '))] : []),
          ...(unnamedColumns > 0 ? [text.unnamed(unnamedColumns)] : []),
        ].join(' ')}
      </p>
      <ScrollTable
        label={common.preview}
        columns={[
          { number: common.line },
          common.destination,
          common.alias,
          common.title,
          common.tags,
        ]}
        isPreview
      >
        {rows.slice(0, maxShown).map((row) => (
          <Row key={row.row} row={row} />
        ))}
      </ScrollTable>
      {rows.length > maxShown && <p class="hint">{text.onlyFirstLines(maxShown)}</p>}
    </>
  );
};
