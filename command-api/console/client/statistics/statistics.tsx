import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type { PeriodStats } from '../../../../schemas/http/statistics.js';
import {
  dimensionNames,
  dimensions,
  type Dimension,
} from '../../../../schemas/statistics/document.js';
import { listOf } from '../../comparison.js';
import { formatStart, formatValue } from '../../format.js';
import { formatNumber } from '../../locale.js';
import { addDays, alignSeries, noFilters, type Counted, type Interval } from '../../periods.js';
import { texts } from '../../texts.js';
import { Chips } from '../components/chips.js';
import { DownloadCsv } from '../components/save.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { useRecentVisits } from '../live/recent-visits.js';
import { PeriodPicker } from './period-picker.js';
import { fileNameOf, type LoadedStats, useView } from './period-stats.js';
import { Plot } from './plot.js';
import { Breakdown, changeOf } from './value-list.js';

const { common, statistics: text } = texts;

/** The visits of the last minutes, on pages with a live view: at most those of the period. */
const NowMark = ({ clickCount }: { readonly clickCount: number }) => {
  const count = Math.min(useRecentVisits(), clickCount);
  return count === 0 ? null : (
    <>
      {' '}
      <span class="badge live">
        {text.now(count)}
        <span class="unseen"> {text.inLastMinutes}</span>
      </span>
    </>
  );
};

const sources: readonly Dimension[] = ['referrers', 'triggers', 'targets', 'codes', 'campaigns'];
const visitors: readonly Dimension[] = ['countries', 'languages'];
const devices: readonly Dimension[] = ['browsers', 'os', 'devices'];

const Figure = (props: {
  readonly label: string;
  /** `null`: unknown; absent: not loaded. */
  readonly value: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly hint?: string;
  readonly children?: ComponentChildren;
}) => {
  const { label, value, before, hint, children } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span class="figure">
          {value == null ? (value === null ? common.unknown : '–') : formatNumber(value)}
        </span>{' '}
        {value != null && before != null && (
          <span class="soft">
            {changeOf(value, before)} ({text.before(before)})
          </span>
        )}
        {children}
        {hint !== undefined && <p class="hint">{hint}</p>}
      </dd>
    </div>
  );
};

/** `null`: unknown, because no click has a visitor, as imported visits. */
const visitorDaysOf = (stats: PeriodStats | undefined) =>
  stats?.uniques === 0 && stats.period.clickCount > 0 ? null : stats?.uniques;

interface SeriesProps {
  readonly now: PeriodStats;
  readonly before: PeriodStats | undefined;
  /** The address of a day by the hour; `null` if days are not shown. */
  readonly hrefOfDay: ((day: string) => string) | null;
}

/** The intervals of the compared period, by interval of this one; `undefined`: not compared. */
const alignedWith = ({ timeseries = [], period }: PeriodStats, before: PeriodStats | undefined) =>
  before && alignSeries(timeseries, before.timeseries ?? [], period.interval);

const cellOf = (counted: Counted | null | undefined, interval: Interval): string =>
  counted ? `${formatNumber(counted.clicks)} (${formatStart(counted.start, interval)})` : '–';

/** The numbers of the plot, for screen readers too. */
const Table = ({ now, before, hrefOfDay }: SeriesProps) => {
  const aligned = alignedWith(now, before);
  return (
    <ScrollTable
      label={text.byInterval}
      columns={[text.start, common.clicks, text.bots, ...(before ? [text.periodBefore] : [])]}
    >
      {now.timeseries?.map(({ start, clicks, bots }, index) => {
        const label = formatStart(start, now.period.interval);
        return (
          <tr key={start}>
            <th scope="row">
              {hrefOfDay === null ? label : <a href={hrefOfDay(start.slice(0, 10))}>{label}</a>}
            </th>
            <td>{formatNumber(clicks)}</td>
            <td>{formatNumber(bots ?? 0)}</td>
            {aligned && <td>{cellOf(aligned[index], now.period.interval)}</td>}
          </tr>
        );
      })}
    </ScrollTable>
  );
};

const Series = (props: SeriesProps) => {
  const { now, before, hrefOfDay } = props;
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const { timeseries = [], period } = now;
  return (
    <>
      <Plot
        title={text.plot(period.clickCount)}
        labels={timeseries.map(({ start }) => formatStart(start, period.interval))}
        clicks={timeseries.map(({ clicks }) => clicks)}
        before={alignedWith(now, before)?.map(
          (counted) =>
            counted && {
              label: formatStart(counted.start, period.interval),
              clicks: counted.clicks,
            },
        )}
        onPick={
          hrefOfDay === null
            ? undefined
            : (index) => {
                const picked = timeseries[index];
                if (picked) route(hrefOfDay(picked.start.slice(0, 10)));
              }
        }
      />
      {before && (
        <p class="legend" aria-hidden="true">
          <span>{common.clicks}</span> <span class="before">{text.periodBefore}</span>
        </p>
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{text.asTable}</summary>
        {isOpen && <Table {...props} />}
      </details>
    </>
  );
};

const singular = { ...text.dimensions, ...texts.values.attributes, referrers: text.referrer };

/** The values of the visits of a link that a click set as filters. */
const VisitFilters = () => {
  const [{ visits }, hrefOf] = useView();
  const chips = dimensionNames.flatMap((name) => {
    const { [dimensions[name]]: value, ...others } = visits;
    return value === undefined
      ? []
      : [[singular[name], formatValue(name, value || null), hrefOf({ visits: others })] as const];
  });
  return chips.length === 0 ? null : <Chips chips={chips} withoutFilters={hrefOf(noFilters)} />;
};

interface Props {
  readonly stats: LoadedStats;
  /** Shown next to the breakdowns. */
  readonly children?: ComponentChildren;
  /** Shown before the period. */
  readonly filter?: ComponentChildren;
}

/** The series as CSV, with that of the compared period. */
const csvOf = (now: PeriodStats, before: PeriodStats | undefined) => {
  const aligned = alignedWith(now, before);
  return [
    ['start', 'clicks', 'bots', ...(aligned ? ['compared_start', 'compared_clicks'] : [])],
    ...(now.timeseries ?? []).map(({ start, clicks, bots = 0 }, index) => {
      const counted = aligned?.[index];
      return [
        ...[start, String(clicks), String(bots)],
        ...(aligned ? [counted?.start ?? '', String(counted?.clicks ?? '')] : []),
      ];
    }),
  ];
};

/** The clicks of a period, over time and by dimension. */
export const Statistics = ({ stats, children, filter }: Props) => {
  const { value, before } = stats;
  const { route } = useLocation();
  const [view, hrefOf] = useView();
  const isNarrowed = stats.shortCode !== null && Object.keys(view.visits).length > 0;
  const hrefOfDay = (day: string): string =>
    hrefOf({ preset: 'custom', from: day, to: addDays(day, 1), interval: 'hour' });

  return (
    <>
      {stats.shortCode !== null && <VisitFilters />}
      <PeriodPicker view={view} onChange={(change) => route(hrefOf(change))}>
        {filter}
      </PeriodPicker>
      <Trouble failure={stats.failure} onRetry={stats.reload} />
      <div class="stack" aria-busy={stats.isLoading}>
        <section class="card" aria-label={text.clicksOverTime}>
          <dl class="figures">
            <Figure
              label={common.clicks}
              value={value?.period.clickCount}
              before={before?.period.clickCount}
            >
              {/* The recent visits are those of all values. */}
              {!isNarrowed && (
                <NowMark
                  key={[view.domain, view.tag, view.destination, stats.shortCode].join(' ')}
                  clickCount={value?.period.clickCount ?? 0}
                />
              )}
            </Figure>
            <Figure
              label={text.visitorDays}
              value={visitorDaysOf(value)}
              before={visitorDaysOf(before)}
              hint={text.visitorDaysHint}
            />
            <Figure
              label={text.bots}
              value={value?.bots}
              before={before?.bots}
              hint={text.botsHint}
            />
          </dl>
          {value ? (
            <Series
              now={value}
              before={before}
              hrefOfDay={view.interval === 'day' ? hrefOfDay : null}
            />
          ) : (
            <div class="plot" />
          )}
          {value && (
            <DownloadCsv
              fileName={fileNameOf(stats, 'timeseries')}
              title={text.clicksOverTime}
              rowsOf={() => csvOf(value, before)}
            />
          )}
        </section>
        <div class="columns breakdowns">
          {children}
          <Breakdown
            title={text.sources}
            // Links without rules, with one code or without campaigns have no value of the last three.
            dimensions={sources.filter(
              (name, index) =>
                index < 2 ||
                listOf(value, name).some((row) => row.value !== stats.shortCode && row.value),
            )}
            stats={stats}
          />
          <Breakdown title={text.visitors} dimensions={visitors} stats={stats} />
          <Breakdown title={text.technology} dimensions={devices} stats={stats} />
        </div>
      </div>
    </>
  );
};
