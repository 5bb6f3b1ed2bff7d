import { formatDay, formatNumber } from '../../format.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { AccountStatsResponse, UsageResponse } from '../app/types.js';
import { Begin } from '../components/begin.js';
import { Meter } from '../components/meter.js';
import { Trouble } from '../components/trouble.js';
import {
  periodQuery,
  statsPath,
  Statistics,
  usePeriodStats,
  useView,
} from '../statistics/statistics.js';

const atLimit = {
  calls: 'At the limit, API calls answer 429 until the reset. Links go on redirecting.',
  links: 'At the limit, no more links are made until the reset. Links go on redirecting.',
  qrCodes: 'At the limit, no more QR codes are made until the reset. Those in use go on working.',
} as const;

interface Props {
  readonly upgradeUrl: string;
}

const Quotas = ({ upgradeUrl }: Props) => {
  const { value, failure, reload } = useLoad(() => callApi<UsageResponse>('/v2/usage'), '');
  return (
    <section class="stack" aria-labelledby="quotas">
      <div class="row spread">
        <h2 id="quotas">This month</h2>
        {value && (
          <p class="soft">
            Plan {value.plan} (<a href={upgradeUrl}>see the plans</a>), reset on{' '}
            {formatDay(value.resetDate)}
          </p>
        )}
      </div>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <div class="columns">
          <Meter label="API calls" {...value.calls} atLimit={atLimit.calls} />
          <Meter label="Links" {...value.links} atLimit={atLimit.links} />
          <Meter label="QR codes" {...value.qrCodes} atLimit={atLimit.qrCodes} />
        </div>
      )}
    </section>
  );
};

const TopLinks = () => {
  const [view] = useView();
  const path = statsPath(null) + periodQuery(view, view, 'links') + '&limit=6';
  const { value, failure, reload } = useLoad(() => callApi<AccountStatsResponse>(path), path);
  const links = value?.links ?? [];
  const most = Math.max(1, ...links.map(({ clicks }) => clicks));
  return (
    <section class="card breakdown" aria-labelledby="top-links">
      <h2 id="top-links">Top links</h2>
      <Trouble failure={failure} onRetry={reload} />
      {value && links.length === 0 && <p class="soft">No clicks in this period.</p>}
      <ol class="bars">
        {links.map(({ shortCode, url, clicks }) => (
          <li key={shortCode} style={{ '--share': clicks / most }}>
            <span class="clip">
              <a href={`/console/links/${shortCode}`}>{shortCode}</a> <bdi class="soft">{url}</bdi>
            </span>
            <span class="count">{formatNumber(clicks)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
};

/** The statistics and quotas of the account. */
export const Overview = ({ upgradeUrl }: Props) => {
  const stats = usePeriodStats<AccountStatsResponse>(null);
  return (
    <Page
      title="Overview"
      aside={
        <a class="button primary" href="/console/new">
          New link
        </a>
      }
    >
      {stats.value?.linkCount === 0 ? (
        <Begin />
      ) : (
        <Statistics stats={stats}>
          <TopLinks />
        </Statistics>
      )}
      <Quotas upgradeUrl={upgradeUrl} />
    </Page>
  );
};
