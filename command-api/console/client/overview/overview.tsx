import { useLocation } from 'preact-iso/router';
import { useId, useRef } from 'preact/hooks';
import type { UsageResponse } from '../../../../schemas/http/reports.js';
import type { AccountStatsResponse } from '../../../../schemas/http/statistics.js';
import { compareRows } from '../../comparison.js';
import { formatDay, formatLimit } from '../../format.js';
import { linkPage, subjectOfLink } from '../../link-address.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';
import { useApi } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Begin } from '../components/begin.js';
import { ClippedUrl } from '../components/clipped.js';
import { DomainSelect } from '../components/own-domains.js';
import { NeedsScope, useOwner, useScope } from '../app/owner.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { LiveEvents } from '../live/live-events.js';
import { fileNameOf, maxValues, usePeriodStats, useView } from '../statistics/period-stats.js';
import { Statistics } from '../statistics/statistics.js';
import { ValueList } from '../statistics/value-list.js';

const { common, components: notes, overview: text } = texts;

interface MeterProps {
  readonly label: string;
  readonly used: number;
  /** `null`: no limit. */
  readonly limit: number | null;
  /** Describes what happens at the limit. */
  readonly atLimit: string;
}

const Meter = ({ label, used, limit, atLimit }: MeterProps) => {
  const id = useId();
  const share = limit === null ? 0 : limit === 0 ? 1 : used / limit;
  return (
    <div class="card quota">
      <h3 id={id}>{label}</h3>
      <p class="figure">
        {formatNumber(used)} <span class="soft">{notes.of(formatLimit(limit))}</span>
      </p>
      {limit !== null && (
        <meter
          aria-labelledby={id}
          min={0}
          max={1}
          low={0.8}
          high={0.999}
          optimum={0}
          value={Math.min(1, share)}
        />
      )}
      <p class="hint">{limit === null ? notes.noLimit : atLimit}</p>
    </div>
  );
};

const Quotas = () => {
  const { plansUrl } = useOwner();
  const { value, failure, reload } = useApi<UsageResponse>('/v2/usage');
  return (
    <section class="stack" aria-labelledby="quotas">
      <div class="row spread">
        <h2 id="quotas">{text.thisMonth}</h2>
        {value && (
          <p class="soft">
            {richText(plansUrl === null ? text.plan : text.planWithUrl, {
              plan: value.plan,
              offer: plansUrl !== null && <a href={plansUrl}>{text.seePlans}</a>,
              day: formatDay(value.resetDate),
            })}
          </p>
        )}
      </div>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <div class="columns">
          <Meter label={text.calls} {...value.calls} atLimit={text.callsAtLimit} />
          <Meter label={common.links} {...value.links} atLimit={text.linksAtLimit} />
          <Meter label={common.qrCodes} {...value.qrCodes} atLimit={text.qrCodesAtLimit} />
        </div>
      )}
    </section>
  );
};

const TopLinks = () => {
  const stats = usePeriodStats<AccountStatsResponse>(null, { include: 'links' });
  const { value, before, failure, isLoading, reload } = stats;
  const rowsOf = ({ links = [] }: AccountStatsResponse) =>
    links.map((link) => ({ value: subjectOfLink(link), clicks: link.clicks }));
  const links = new Map(
    [before, value].flatMap((loaded) =>
      (loaded?.links ?? []).map((link) => [subjectOfLink(link), link] as const),
    ),
  );
  const nameOf = (subject: string | null) => {
    const link = links.get(subject ?? '');
    return (
      link && (
        <>
          <a href={linkPage(link)}>{subject}</a>
          <span class="soft">
            <ClippedUrl url={link.url} />
          </span>
        </>
      )
    );
  };
  return (
    <section class="card breakdown" aria-labelledby="top-links" aria-busy={isLoading}>
      <h2 id="top-links">{text.topLinks}</h2>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <ValueList
          title={text.topLinks}
          fileName={fileNameOf(stats, 'links')}
          rows={compareRows(rowsOf(value), before && rowsOf(before), maxValues)}
          nameOf={nameOf}
          isCompared={before !== undefined}
        />
      )}
    </section>
  );
};

/** The statistics, or the first steps of an account without links. */
const Clicks = ({ canCreate }: { readonly canCreate: boolean }) => {
  const stats = usePeriodStats<AccountStatsResponse>(null);
  /** Decided when the statistics are loaded, because those of another domain are shown until then. */
  const isEmpty = useRef(false);
  const { route } = useLocation();
  const [{ domain }, hrefOf] = useView();
  if (!stats.isLoading) isEmpty.current = domain === '' && stats.value?.linkCount === 0;
  if (isEmpty.current && canCreate) return <Begin />;
  const filter = (
    <DomainSelect
      none={common.allDomains}
      value={domain}
      onChange={(chosen) => route(hrefOf({ domain: chosen }))}
    />
  );
  return (
    <Statistics stats={stats} filter={filter}>
      <TopLinks />
    </Statistics>
  );
};

/** The statistics and quotas of the account. */
export const Overview = () => {
  const [{ domain }] = useView();
  const canCreate = useScope('links:create');
  return (
    <Page
      title={texts.app.overview}
      aside={
        canCreate && (
          <a class="button primary" href="/console/new">
            {common.newLink}
          </a>
        )
      }
    >
      <NeedsScope scope="stats:read">
        <Clicks canCreate={canCreate} />
      </NeedsScope>
      <LiveEvents domain={domain} />
      <Quotas />
    </Page>
  );
};
