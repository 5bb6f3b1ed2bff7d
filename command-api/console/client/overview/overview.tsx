import { useLocation } from 'preact-iso/router';
import { useId, useRef } from 'preact/hooks';
import type { UsageResponse } from '../../../../schemas/http/reports.js';
import type { AccountStatsResponse } from '../../../../schemas/http/statistics.js';
import { compareRows } from '../../comparison.js';
import { formatDay, formatLimit } from '../../format.js';
import { linkPage, subjectOfLink } from '../../link-address.js';
import { formatNumber } from '../../locale.js';
import { isFiltered, noFilters } from '../../periods.js';
import { texts } from '../../texts.js';
import { useApi } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Begin } from '../components/begin.js';
import { Chips } from '../components/chips.js';
import { ClippedUrl } from '../components/clipped.js';
import { DomainSelect } from '../components/own-domains.js';
import { NeedsScope, useOwner, useScope } from '../app/owner.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { LiveEvents } from '../live/live-events.js';
import { fileNameOf, maxValues, usePeriodStats, useView } from '../statistics/period-stats.js';
import { Statistics } from '../statistics/statistics.js';
import { ListChoice, ValueList } from '../statistics/value-list.js';

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

type LinkClicks = NonNullable<AccountStatsResponse['links']>[number];

/** The address of a link's statistics, and a filter by the host of its destination. */
const LinkName = ({ link }: { readonly link: LinkClicks }) => {
  const [, hrefOf] = useView();
  const { shortCode, domain = '', url } = link;
  // The filter of the API needs a host; a visit received from the stream has no URL.
  const host = /^https?:/.test(url) ? new URL(url).hostname : '';
  const clipped = <ClippedUrl url={url} />;
  return (
    <>
      <a href={hrefOf({ ...noFilters, domain, lists: [] }, linkPage({ shortCode }))}>
        {subjectOfLink(link)}
      </a>
      {host === '' ? (
        <span class="soft">{clipped}</span>
      ) : (
        <a class="soft" href={hrefOf({ destination: host })}>
          <span class="unseen">{text.linksTo(host)} </span>
          {clipped}
        </a>
      )}
    </>
  );
};

const listLabels = { links: text.topLinks, tags: common.tags } as const;
type List = keyof typeof listLabels;

const TopList = ({ list }: { readonly list: List }) => {
  const [, hrefOf] = useView();
  const stats = usePeriodStats<AccountStatsResponse>(null, { include: list });
  const { value, before, failure, isLoading, reload } = stats;
  const rowsOf = ({ links = [], tags }: AccountStatsResponse) =>
    tags?.values ?? links.map((link) => ({ value: subjectOfLink(link), clicks: link.clicks }));
  const links = new Map(
    [before, value].flatMap((loaded) =>
      (loaded?.links ?? []).map((link) => [subjectOfLink(link), link] as const),
    ),
  );
  const nameOf = (name: string | null) => {
    const link = links.get(name ?? '');
    return link ? (
      <LinkName link={link} />
    ) : (
      <a dir="auto" href={hrefOf({ tag: name ?? '' })}>
        {name}
      </a>
    );
  };
  return (
    <div aria-busy={isLoading}>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <ValueList
          title={listLabels[list]}
          fileName={fileNameOf(stats, list)}
          rows={compareRows(rowsOf(value), before && rowsOf(before), maxValues)}
          nameOf={nameOf}
          isCompared={before !== undefined}
        />
      )}
    </div>
  );
};

/** The filters that a click set, and whether no link matches. */
const ActiveFilters = ({ isEmpty }: { readonly isEmpty: boolean }) => {
  const [view, hrefOf] = useView();
  const names = (['tag', 'destination'] as const).filter((name) => view[name] !== '');
  return (
    <>
      <Chips
        chips={names.map((name) => [notes.filter[name], view[name], hrefOf({ [name]: '' })])}
        withoutFilters={hrefOf(noFilters)}
      />
      {isEmpty && <p role="status">{text.noMatch}</p>}
    </>
  );
};

/** The statistics, or the first steps of an account without links. */
const Clicks = ({ canCreate }: { readonly canCreate: boolean }) => {
  const stats = usePeriodStats<AccountStatsResponse>(null);
  /** Decided when the statistics are loaded, because those of another domain are shown until then. */
  const isEmpty = useRef(false);
  const { route } = useLocation();
  const [view, hrefOf] = useView();
  const { domain } = view;
  const isNarrowed = isFiltered(view);
  const hasNoLinks = !stats.isLoading && stats.value?.linkCount === 0;
  if (!stats.isLoading) isEmpty.current = hasNoLinks && domain === '' && !isNarrowed;
  if (isEmpty.current && canCreate) return <Begin />;
  const filter = (
    <DomainSelect
      none={common.allDomains}
      value={domain}
      onChange={(chosen) => route(hrefOf({ domain: chosen }))}
    />
  );
  return (
    <>
      {isNarrowed && <ActiveFilters isEmpty={hasNoLinks} />}
      <Statistics stats={stats} filter={filter}>
        <ListChoice title={text.mostClicked} names={['links', 'tags']} labels={listLabels}>
          {(list) => <TopList key={list} list={list} />}
        </ListChoice>
      </Statistics>
    </>
  );
};

/** The statistics and quotas of the account. */
export const Overview = () => {
  const [view] = useView();
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
      {/* The stream of the API has no filter by tag or destination. */}
      {!isFiltered(view) && <LiveEvents domain={view.domain} />}
      <Quotas />
    </Page>
  );
};
