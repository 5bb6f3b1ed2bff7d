import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ComparedRow } from '../../comparison.js';
import { formatChange, formatNumber, formatShare } from '../../numbers.js';
import { texts } from '../../texts.js';
import { Dialog } from '../components/dialog.js';
import { DownloadCsv } from './download-csv.js';

const text = texts.statistics;

const shownAtFirst = 6;

/** The change of a number, such as `+12%` or `new`. */
export const changeOf = (now: number, before: number): string =>
  formatChange(now, before) ?? (now === 0 ? '' : text.new);

interface ListProps {
  readonly rows: readonly ComparedRow[];
  readonly nameOf: (value: string | null) => ComponentChildren;
  /** The sum of all rows; absent: no shares are shown. */
  readonly clickCount?: number;
  /** Whether changes are shown. */
  readonly isCompared: boolean;
}

type NoteProps = Pick<ListProps, 'clickCount' | 'isCompared'> & { readonly row: ComparedRow };

/** The share of a value, or its change. */
const Note = ({ row: { clicks, before }, clickCount, isCompared }: NoteProps) => {
  if (!isCompared) {
    return clickCount === undefined ? null : (
      <span class="soft">{formatShare(clicks, clickCount)}</span>
    );
  }
  return before === null ? null : (
    <span class="soft">
      {changeOf(clicks, before)}{' '}
      {before > 0 && <span aria-hidden="true">{formatNumber(before)} →</span>}
      <span class="unseen">{text.before(before)}</span>
    </span>
  );
};

const Rows = (props: ListProps) => {
  const { rows, nameOf } = props;
  const most = Math.max(1, ...rows.map(({ clicks }) => clicks));
  return (
    <ol class="bars">
      {rows.map((row) => (
        <li key={String(row.value)} style={{ '--share': row.clicks / most }}>
          <span class="clip">{nameOf(row.value)}</span>
          <Note {...props} row={row} />
          <span class="count">{formatNumber(row.clicks)}</span>
        </li>
      ))}
    </ol>
  );
};

interface Props extends ListProps {
  readonly title: string;
  /** The name of the CSV file. */
  readonly fileName: string;
}

/** The first values of a breakdown, all of them in a dialog, and the list as CSV. */
export const ValueList = ({ title, fileName, ...list }: Props) => {
  const [isOpen, setOpen] = useState(false);
  const { rows, isCompared } = list;
  const csv = () => [
    ['value', 'clicks', ...(isCompared ? ['compared_clicks'] : [])],
    ...rows.map(({ value, clicks, before }) => [
      ...[value ?? '', String(clicks)],
      ...(isCompared ? [String(before ?? '')] : []),
    ]),
  ];
  if (rows.length === 0) return <p class="soft">{text.none}</p>;
  return (
    <>
      <Rows {...list} rows={rows.slice(0, shownAtFirst)} />
      {rows.length > shownAtFirst && (
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            setOpen(true);
          }}
        >
          {text.all(rows.length)}
          <span class="unseen"> {title}</span>
        </button>
      )}
      <DownloadCsv fileName={fileName} title={title} rowsOf={csv} />
      {isOpen && (
        <Dialog
          title={title}
          onClose={() => {
            setOpen(false);
          }}
        >
          <Rows {...list} />
        </Dialog>
      )}
    </>
  );
};
