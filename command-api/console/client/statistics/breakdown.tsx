import { useId, useState } from 'preact/hooks';
import { formatValue } from '../../format.js';
import { formatNumber, formatShare } from '../../numbers.js';
import type { Dimension, PeriodStats } from '../app/types.js';
import { Dialog } from '../components/dialog.js';
import { DownloadCsv } from './download-csv.js';

interface Row {
  readonly value: string | null;
  readonly clicks: number;
}

/** Dimensions with their titles. */
export type Dimensions = readonly (readonly [dimension: Dimension, title: string])[];

interface Props {
  readonly title: string;
  /** Shown one at a time. */
  readonly dimensions: Dimensions;
  /** `undefined` until they are loaded. */
  readonly stats: PeriodStats | undefined;
  /** The call that returns a dimension. */
  readonly pathOf: (include: string) => string;
}

const shownAtFirst = 6;

const Rows = (props: {
  readonly dimension: Dimension;
  readonly rows: readonly Row[];
  /** The sum of all rows. */
  readonly clickCount: number;
}) => {
  const { dimension, rows, clickCount } = props;
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

/** The clicks of a period by a selected dimension: the first values, and all in a dialog. */
export const Breakdown = ({ title, dimensions, stats, pathOf }: Props) => {
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const [dimension, name] = dimensions[chosen] ?? ['referrers', title];
  const rows = stats && (stats[dimension] ?? []);
  const clickCount = stats?.period.clickCount ?? 0;
  return (
    <section class="card breakdown" aria-labelledby={id}>
      <h2 id={id} class="unseen">
        {title}
      </h2>
      <div class="row choice" role="group" aria-labelledby={id}>
        {dimensions.map(([option, text], index) => (
          <button
            key={option}
            type="button"
            class="quiet small"
            aria-pressed={index === chosen}
            onClick={() => {
              setChosen(index);
            }}
          >
            {text}
          </button>
        ))}
      </div>
      {rows?.length === 0 && <p class="soft">No clicks in this period.</p>}
      {rows && <Rows {...{ dimension, clickCount }} rows={rows.slice(0, shownAtFirst)} />}
      {rows && rows.length > shownAtFirst && (
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            setOpen(true);
          }}
        >
          All {formatNumber(rows.length)}
          <span class="unseen"> {name}</span>
        </button>
      )}
      {rows && rows.length > 0 && (
        <DownloadCsv include={dimension} title={name} path={pathOf(dimension)} />
      )}
      {rows && isOpen && (
        <Dialog
          title={name}
          onClose={() => {
            setOpen(false);
          }}
        >
          <Rows {...{ dimension, rows, clickCount }} />
        </Dialog>
      )}
    </section>
  );
};
