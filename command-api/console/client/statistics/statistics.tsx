import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import { formatStart, ownZoneOf } from '../../format.js';
import { formatChange, formatNumber } from '../../numbers.js';
import {
  addDays,
  daysBefore,
  readView,
  writeView,
  type Days,
  type StatisticsView,
} from '../../periods.js';
import { callApi, type Failure } from '../app/api.js';
import { useLoad, useReloadOnReturn } from '../app/hooks.js';
import type { PeriodStats } from '../app/types.js';
import { Trouble } from '../components/trouble.js';
import { ScrollTable } from '../components/scroll-table.js';
import { Breakdown, type Dimensions } from './breakdown.js';
import { DownloadCsv } from './download-csv.js';
import { PeriodPicker } from './period-picker.js';
import { Plot, usePlotLibrary, type PlotLibrary } from './plot.js';

const sources: Dimensions = [
  ['referrers', 'Referrers'],
  ['triggers', 'Link or QR code'],
];
const withTargets: Dimensions = [...sources, ['targets', 'Redirect rule']];
const visitors: Dimensions = [
  ['countries', 'Countries'],
  ['languages', 'Languages'],
];
const devices: Dimensions = [
  ['browsers', 'Browsers'],
  ['os', 'Systems'],
  ['devices', 'Devices'],
];

/** @param shortCode `null`: all links */
export const statsPath = (shortCode: string | null): string =>
  shortCode === null ? '/v2/stats' : `/v2/stats/${encodeURIComponent(shortCode)}`;

export const periodQuery = (view: StatisticsView, days: Days, include: string): string => {
  const { interval, tz, domain } = view;
  const { from, to } = days;
  const query = { include, from, to, interval, tz, ...(domain !== '' && { domain }) };
  return `?${new URLSearchParams(query).toString()}`;
};

/** The period in the address, and the addresses of other periods. */
export const useView = (): readonly [
  StatisticsView,
  hrefOf: (change: Partial<StatisticsView>) => string,
] => {
  const { path, query } = useLocation();
  const ownZone = ownZoneOf();
  const view = readView(query, new Date(), ownZone);
  return [
    view,
    (change) => {
      const next = { ...view, ...change };
      // Another preset has other days and another default interval.
      const keepsDays = change.preset === undefined || change.preset === 'custom';
      if (keepsDays) return path + writeView(next, ownZone);
      const { preset, tz, compare, domain } = next;
      const now = new Date();
      const read = readView(
        { period: preset, tz, compare: compare ? '1' : '', domain },
        now,
        ownZone,
      );
      const days = preset === 'custom' ? view : read;
      return path + writeView({ ...read, preset, from: days.from, to: days.to }, ownZone);
    },
  ];
};

const Figure = (props: {
  readonly label: string;
  readonly value: number | undefined;
  readonly before?: number | undefined;
  readonly hint?: string;
}) => {
  const { label, value, before, hint } = props;
  const change = value === undefined || before === undefined ? null : formatChange(value, before);
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span class="figure">{value === undefined ? '–' : formatNumber(value)}</span>{' '}
        {change !== null && <span class="soft">{change}</span>}
        {hint !== undefined && <p class="hint">{hint}</p>}
      </dd>
    </div>
  );
};

interface SeriesProps {
  readonly now: PeriodStats;
  readonly before: PeriodStats | undefined;
  /** The address of a day by the hour; `null` if days are not shown. */
  readonly hrefOfDay: ((day: string) => string) | null;
}

/** The numbers of the plot, for screen readers too. */
const Table = ({ now, before, hrefOfDay }: SeriesProps) => (
  <ScrollTable
    label="Clicks by interval"
    columns={['Start', 'Clicks', 'Bots', ...(before ? ['The period before'] : [])]}
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
          {before && <td>{formatNumber(before.timeseries?.[index]?.clicks ?? 0)}</td>}
        </tr>
      );
    })}
  </ScrollTable>
);

const Series = (props: SeriesProps & { readonly library: PlotLibrary | null }) => {
  const { now, before, hrefOfDay, library } = props;
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const { timeseries = [], period } = now;
  return (
    <>
      {library && (
        <Plot
          library={library}
          title={`${formatNumber(period.clickCount)} clicks, by ${period.interval}. The table below has the numbers.`}
          labels={timeseries.map(({ start }) => formatStart(start, period.interval))}
          clicks={timeseries.map(({ clicks }) => clicks)}
          before={before?.timeseries?.map(({ clicks }) => clicks)}
          onPick={
            hrefOfDay === null
              ? undefined
              : (index) => {
                  const picked = timeseries[index];
                  if (picked) route(hrefOfDay(picked.start.slice(0, 10)));
                }
          }
        />
      )}
      {before && (
        <p class="legend" aria-hidden="true">
          <span>Clicks</span> <span class="before">The period before</span>
        </p>
      )}
      <details
        onToggle={(event) => {
          setOpen(event.currentTarget.open);
        }}
      >
        <summary>As a table</summary>
        {isOpen && <Table {...props} />}
      </details>
    </>
  );
};

/** `value` stays while other statistics are loaded. */
export interface LoadedStats<Stats extends PeriodStats> {
  /** `null`: all links. */
  readonly shortCode: string | null;
  readonly value: Stats | undefined;
  /** The previous period, if it is compared. */
  readonly before: PeriodStats | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads the statistics of the period in the address. @param shortCode `null`: all links */
export const usePeriodStats = <Stats extends PeriodStats>(
  shortCode: string | null,
): LoadedStats<Stats> => {
  const [view] = useView();
  const path = statsPath(shortCode);
  const now = path + periodQuery(view, view, 'all') + '&limit=200';
  const earlier = path + periodQuery(view, daysBefore(view), 'timeseries,bots,uniques');
  const stats = useLoad(() => callApi<Stats>(now), now);
  useReloadOnReturn(stats);
  const compared = useLoad(
    () =>
      view.compare
        ? callApi<PeriodStats>(earlier)
        : Promise.resolve({ ok: true, status: 200, value: undefined }),
    view.compare ? earlier : '',
  );
  const before = view.compare ? compared.value : undefined;
  return { ...stats, shortCode, before, failure: stats.failure ?? compared.failure };
};

interface Props {
  readonly stats: LoadedStats<PeriodStats>;
  /** Next to the breakdowns. */
  readonly children?: ComponentChildren;
  /** Before the period. */
  readonly filter?: ComponentChildren;
}

/** The clicks of a period, over time and by dimension. */
export const Statistics = ({ stats, children, filter }: Props) => {
  const { value, before } = stats;
  const { route } = useLocation();
  const [view, hrefOf] = useView();
  const library = usePlotLibrary();
  const hasTargets = value?.targets?.some((target) => target.value !== null) ?? false;
  const pathOf = (include: string): string =>
    `${statsPath(stats.shortCode)}${periodQuery(view, view, include)}&limit=200`;
  const hrefOfDay = (day: string): string =>
    hrefOf({ preset: 'custom', from: day, to: addDays(day, 1), interval: 'hour' });

  return (
    <>
      <PeriodPicker
        view={view}
        onChange={(change) => {
          route(hrefOf(change));
        }}
      >
        {filter}
      </PeriodPicker>
      <Trouble failure={stats.failure} onRetry={stats.reload} />
      <div class="stack" aria-busy={stats.isLoading}>
        <section class="card" aria-label="Clicks over time">
          <dl class="figures">
            <Figure
              label="Clicks"
              value={value?.period.clickCount}
              before={before?.period.clickCount}
            />
            <Figure
              label="Visitor-days"
              value={value?.uniques}
              before={before?.uniques}
              hint="Different visitors of each day (UTC), added up"
            />
            <Figure
              label="Bots"
              value={value?.bots}
              before={before?.bots}
              hint="Not among the clicks"
            />
          </dl>
          {value && library !== undefined ? (
            <Series
              library={library}
              now={value}
              before={before}
              hrefOfDay={view.interval === 'day' ? hrefOfDay : null}
            />
          ) : (
            <div class="plot" />
          )}
          {value && (
            <DownloadCsv
              include="timeseries"
              title="clicks over time"
              path={pathOf('timeseries')}
            />
          )}
        </section>
        <div class="columns breakdowns">
          {children}
          <Breakdown
            title="Sources"
            dimensions={hasTargets ? withTargets : sources}
            stats={value}
            pathOf={pathOf}
          />
          <Breakdown title="Visitors" dimensions={visitors} stats={value} pathOf={pathOf} />
          <Breakdown title="Devices" dimensions={devices} stats={value} pathOf={pathOf} />
        </div>
      </div>
    </>
  );
};
