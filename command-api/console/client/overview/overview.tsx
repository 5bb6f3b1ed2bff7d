import { useLocation } from 'preact-iso/router';
import { useRef } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDay } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import { linkPage, subjectOfLink } from '../../link-address.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { AccountStatsResponse, UsageResponse } from '../app/types.js';
import { Begin } from '../components/begin.js';
import { Meter } from '../components/meter.js';
import { DomainSelect } from '../components/own-domains.js';
import { LiveEvents } from '../live/live-events.js';
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
  readonly upgradeUrl: string | null;
  /** Those of the session's key. */
  readonly scopes: readonly Scope[];
}

const Quotas = ({ upgradeUrl }: Pick<Props, 'upgradeUrl'>) => {
  const { value, failure, reload } = useLoad(() => callApi<UsageResponse>('/v2/usage'), '');
  return (
    <section class="stack" aria-labelledby="quotas">
      <div class="row spread">
        <h2 id="quotas">This month</h2>
        {value && (
          <p class="soft">
            Plan {value.plan} (<a href={upgradeUrl ?? ''}>see the plans</a>), reset on{' '}
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
        {links.map((link) => (
          <li key={subjectOfLink(link)} style={{ '--share': link.clicks / most }}>
            <span class="clip">
              <a href={linkPage(link)}>{subjectOfLink(link)}</a> <bdi class="soft">{link.url}</bdi>
            </span>
            <span class="count">{formatNumber(link.clicks)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
};

/** The statistics and quotas of the account. */
export const Overview = ({ upgradeUrl, scopes }: Props) => {
  const stats = usePeriodStats<AccountStatsResponse>(null);
  /** Decided when the statistics are loaded, because those of another domain are shown until then. */
  const isEmpty = useRef(false);
  const { route } = useLocation();
  const [{ domain }, hrefOf] = useView();
  if (!stats.isLoading) isEmpty.current = domain === '' && stats.value?.linkCount === 0;
  const filter = (
    <DomainSelect
      none="All domains"
      value={domain}
      onChange={(chosen) => {
        route(hrefOf({ domain: chosen }));
      }}
    />
  );
  return (
    <Page
      title="Overview"
      aside={
        <a class="button primary" href="/console/new">
          New link
        </a>
      }
    >
      {isEmpty.current ? (
        <Begin />
      ) : (
        <Statistics stats={stats} filter={filter}>
          <TopLinks />
        </Statistics>
      )}
      <LiveEvents scopes={scopes} domain={domain} />
      <Quotas upgradeUrl={upgradeUrl} />
    </Page>
  );
};
