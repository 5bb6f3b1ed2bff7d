import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import { dimensions, type Dimension } from '../../../../schemas/statistics/document.js';
import { type ComparedRow, compareRows, listOf, others as otherValues } from '../../comparison.js';
import { formatValue } from '../../format.js';
import { formatChange, formatNumber, formatShare } from '../../locale.js';
import { texts } from '../../texts.js';
import { useTabsInView } from '../app/hooks.js';
import { Dialog } from '../components/dialog.js';
import { DownloadCsv } from '../components/save.js';
import { fileNameOf, type LoadedStats, useView } from './period-stats.js';

const text = texts.statistics;

interface ChoiceProps<Name extends string> {
  readonly title: string;
  /** Shown one at a time. */
  readonly names: readonly Name[];
  readonly labels: Readonly<Record<Name, string>>;
  readonly children: (shown: Name) => ComponentChildren;
}

/** A card with one of several lists. The address has the choice. */
export const ListChoice = <Name extends string>(props: ChoiceProps<Name>) => {
  const { title, names, labels, children } = props;
  const { route } = useLocation();
  const [view, hrefOf] = useView();
  const [first] = names;
  const shown = names.find((name) => view.lists.includes(name)) ?? first;
  const choose = (chosen: Name): void => {
    const others = view.lists.filter((name) => !names.some((own) => own === name));
    route(hrefOf({ lists: chosen === first ? others : [...others, chosen] }));
  };
  return (
    <section class="card breakdown" aria-label={title}>
      <h2 class="unseen">{title}</h2>
      <div ref={useTabsInView(shown)} class="row choice" role="group" aria-label={title}>
        {names.map((option) => (
          <button
            key={option}
            type="button"
            class="quiet small"
            aria-pressed={option === shown}
            onClick={() => choose(option)}
          >
            {labels[option]}
          </button>
        ))}
      </div>
      {shown !== undefined && children(shown)}
    </section>
  );
};

/** Icons of Tabler 3.52.0, in `brands`. */
const brands: ReadonlyMap<string, string> = new Map([
  ['Microsoft Edge', 'edge'],
  ['iOS', 'apple'],
  ['macOS', 'apple'],
  ...['Android', 'Chrome', 'Firefox', 'Opera', 'Safari', 'Windows'].map(
    (name) => [name, name.toLowerCase()] as const,
  ),
]);

/** The folder of the pictures of a dimension's values. */
const folders: Partial<Record<Dimension, string>> = {
  ...{ countries: 'flags', browsers: 'brands', os: 'brands' },
};

const Picture = ({ folder, value }: { readonly folder: string; readonly value: string | null }) => {
  const flag = value !== null && /^[A-Z]{2}$/.test(value) ? value : undefined;
  const file = folder === 'flags' ? flag : brands.get(value ?? '');
  return (
    <span class={`picture ${folder}`}>
      {file !== undefined && <img loading="lazy" alt="" src={`/console/${folder}/${file}.svg`} />}
    </span>
  );
};

interface BreakdownProps {
  readonly title: string;
  readonly dimensions: readonly Dimension[];
  readonly stats: LoadedStats;
}

/** The maximum of the API. */
const maxFiltered = 200_000;

interface FilterLinkProps {
  readonly dimension: Dimension;
  readonly value: string | null;
  readonly stats: LoadedStats;
  readonly children: ComponentChildren;
}

/** A value of a link's visits: a link that filters the page by it, or removes this filter. */
const FilterLink = ({ dimension, value, stats, children }: FilterLinkProps) => {
  const [{ visits }, hrefOf] = useView();
  const field = dimensions[dimension];
  if (stats.shortCode === null || field === 'campaign' || value === otherValues) {
    return <>{children}</>;
  }
  const { bots = 0, period } = stats.value ?? {};
  const { [field]: active, ...others } = visits;
  const isActive = active === (value ?? '');
  if (!isActive && (period?.clickCount ?? 0) + bots > maxFiltered) {
    return <span title={text.tooManyToFilter}>{children}</span>;
  }
  const href = hrefOf({ visits: isActive ? others : { ...visits, [field]: value ?? '' } });
  return (
    <a href={href} aria-current={isActive || undefined}>
      {children}
    </a>
  );
};

/** The clicks of a period by a selected dimension. */
export const Breakdown = ({ title, dimensions, stats }: BreakdownProps) => {
  const { value, before } = stats;
  return (
    <ListChoice title={title} names={dimensions} labels={text.dimensions}>
      {(dimension) =>
        value && (
          <ValueList
            title={text.dimensions[dimension]}
            fileName={fileNameOf(stats, dimension)}
            rows={compareRows(listOf(value, dimension), before && listOf(before, dimension))}
            nameOf={(name) => (
              <FilterLink dimension={dimension} value={name} stats={stats}>
                {folders[dimension] !== undefined && (
                  <Picture folder={folders[dimension]} value={name} />
                )}
                <bdi>{formatValue(dimension, name)}</bdi>
              </FilterLink>
            )}
            noValue={formatValue(dimension, null)}
            clickCount={value.period.clickCount}
            isCompared={before !== undefined}
          />
        )
      }
    </ListChoice>
  );
};

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
  readonly fileName: string;
  /** The name of `null` in the file. */
  readonly noValue?: string;
}

/** The first values of a breakdown, all of them in a dialog, and the list as CSV. */
export const ValueList = ({ title, fileName, noValue = '', ...list }: Props) => {
  const [isOpen, setOpen] = useState(false);
  const { rows, isCompared } = list;
  const csv = () => [
    ['value', 'clicks', ...(isCompared ? ['compared_clicks'] : [])],
    ...rows.map(({ value, clicks, before }) => [
      ...[value ?? noValue, String(clicks)],
      ...(isCompared ? [String(before ?? '')] : []),
    ]),
  ];
  if (rows.length === 0) return <p class="soft">{text.none}</p>;
  return (
    <>
      <Rows {...list} rows={rows.slice(0, shownAtFirst)} />
      {rows.length > shownAtFirst && (
        <button type="button" class="quiet small" onClick={() => setOpen(true)}>
          {text.all(rows.length)}
          <span class="unseen"> {title}</span>
        </button>
      )}
      <DownloadCsv fileName={fileName} title={title} rowsOf={csv} />
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <Rows {...list} />
        </Dialog>
      )}
    </>
  );
};
