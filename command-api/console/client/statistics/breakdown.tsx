import { useId, useState } from 'preact/hooks';
import { formatNumber, formatShare, formatValue } from '../../format.js';
import { Dialog } from '../components/dialog.js';

export interface Row {
  readonly value: string | null;
  readonly clicks: number;
}

interface Props {
  readonly dimension: string;
  readonly title: string;
  readonly rows: readonly Row[];
  /** Of the period, the sum of all rows. */
  readonly clickCount: number;
}

const shownAtFirst = 7;

const Rows = ({ dimension, rows, clickCount }: Omit<Props, 'title'>) => {
  const most = Math.max(1, ...rows.map(({ clicks }) => clicks));
  return (
    <ol class="bars">
      {rows.map(({ value, clicks }) => (
        <li key={String(value)} style={{ '--share': clicks / most }}>
          <span class="clip">
            <bdi>{formatValue(dimension, value)}</bdi>
          </span>
          <span class="soft">{formatShare(clicks, clickCount)}</span>
          <span class="count">{formatNumber(clicks)}</span>
        </li>
      ))}
    </ol>
  );
};

/** The clicks of a period by one dimension: the first values, and all of them in a dialog. */
export const Breakdown = ({ title, rows, ...rest }: Props) => {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {rows.length === 0 ? (
        <p class="soft">No clicks in this period.</p>
      ) : (
        <Rows {...rest} rows={rows.slice(0, shownAtFirst)} />
      )}
      {rows.length > shownAtFirst && (
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            setOpen(true);
          }}
        >
          All {formatNumber(rows.length)}
          <span class="unseen"> {title}</span>
        </button>
      )}
      {isOpen && (
        <Dialog
          title={title}
          onClose={() => {
            setOpen(false);
          }}
        >
          <Rows {...rest} rows={rows} />
        </Dialog>
      )}
    </section>
  );
};
