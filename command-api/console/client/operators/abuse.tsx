import { useLocation } from 'preact-iso/router';
import type { AbuseReport } from '../../../../schemas/http/abuse.js';
import { formatTime } from '../../format.js';
import { linkPage, linkPath, subjectOfLink } from '../../link-address.js';
import { noFilter, statuses, writeFilter } from '../../link-filter.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useAddressedPage } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { type Action, useActions } from '../components/actions.js';
import { ClippedUrl } from '../components/clipped.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { BlockReason } from './any-link.js';

const { common, operators: text } = texts;

const linksOf = (filter: { readonly account?: string; readonly destination?: string }): string =>
  `/console/links?${writeFilter({ ...noFilter, sort: 'clicks', after: '', ...filter })}`;

const AccountLink = ({ account }: { readonly account: string }) => (
  <td>
    <a href={linksOf({ account })}>{account}</a>
  </td>
);

const Number = ({ value }: { readonly value: number }) => (
  <td class="number">{formatNumber(value)}</td>
);

interface Clicks {
  readonly clicks: number;
  /** In the period before. */
  readonly before: number;
}

/** The clicks, and how many times as many as in the period before, such as `×12`. */
const Growth = ({ clicks, before }: Clicks) => (
  <>
    <Number value={clicks} />
    <td class="number">
      {before === 0
        ? texts.statistics.new
        : `×${formatNumber(Math.round((10 * clicks) / before) / 10)}`}
    </td>
  </>
);

/** The sums of the links of each account, the most clicked first. */
const sumByAccount = (links: AbuseReport['links']) => {
  const sums = new Map<string, Clicks & { readonly links: number }>();
  for (const { account, clicks, before } of links) {
    const sum = sums.get(account) ?? { links: 0, clicks: 0, before: 0 };
    sums.set(account, {
      links: sum.links + 1,
      clicks: sum.clicks + clicks,
      before: sum.before + before,
    });
  }
  return [...sums].sort(([, a], [, b]) => b.clicks - a.clicks);
};

const blockOrUnblock = (link: AbuseReport['links'][number]): Action => {
  const subject = subjectOfLink(link);
  const isBlocked = link.status === 'blocked';
  const verb = isBlocked ? text.unblock : text.block;
  const path = linkPath('/admin/links', link, isBlocked ? '/unblock' : '/block');
  return {
    verb: `${verb} …`,
    unseen: subject,
    isDanger: !isBlocked,
    dialog: {
      title: text.confirmWork(verb, subject),
      verb,
      isDanger: !isBlocked,
      content: <BlockReason isBlocked={isBlocked} />,
    },
    call: (data) => callApi(path, { method: 'POST', body: fieldsOf(data) }),
    done: (isBlocked ? text.unblockedLink : text.blockedLink)(subject),
  };
};

/** The links, accounts and destinations that may be abuse, across accounts. */
export const Abuse = () => {
  const { query, route } = useLocation();
  const { isReadOnly } = useOwner();
  const { value, failure, isLoading, reload } = useAddressedPage<AbuseReport>('/admin/abuse', {
    limit: '100',
  });
  const tools = useActions(reload);
  const { period = 'day' } = query;
  return (
    <Page title={texts.app.abuse}>
      <div class="row choice" role="group" aria-label={texts.components.period}>
        {(['hour', 'day', 'week'] as const).map((name) => (
          <button
            key={name}
            type="button"
            class="quiet small"
            aria-pressed={name === period}
            onClick={() => route(`/console/abuse?period=${name}`)}
          >
            {text.abusePeriods[name]}
          </button>
        ))}
      </div>
      {tools.feedback}
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <>
          <div class="card stack" aria-busy={isLoading}>
            <h2>
              {text.clickedLinks}: {text.abusePeriods[value.period]}
            </h2>
            <p class="soft">{text.growthHint}</p>
            <ScrollTable
              label={text.clickedLinks}
              columns={[
                ...[common.shortLink, common.account],
                ...[{ number: common.clicks }, { number: text.growth }, common.destination],
                ...[text.state, ...(isReadOnly ? [] : [common.actions])],
              ]}
              isPreview
            >
              {value.links.map((link) => (
                <tr key={subjectOfLink(link)}>
                  <td>
                    <a href={linkPage(link)}>{subjectOfLink(link)}</a>
                  </td>
                  <AccountLink account={link.account} />
                  <Growth {...link} />
                  <td class="clip">
                    <ClippedUrl url={link.url} />
                  </td>
                  <td>
                    <span class={`badge ${link.status}`}>{statuses[link.status]}</span>
                  </td>
                  {!isReadOnly && (
                    <td>{link.status !== 'deleted' && tools.buttons([blockOrUnblock(link)])}</td>
                  )}
                </tr>
              ))}
            </ScrollTable>
          </div>
          <div class="card stack">
            <h2>{text.clickedAccounts}</h2>
            <ScrollTable
              label={text.clickedAccounts}
              columns={[
                common.account,
                ...[common.links, common.clicks, text.growth].map((number) => ({ number })),
              ]}
              isPreview
            >
              {sumByAccount(value.links).map(([account, sum]) => (
                <tr key={account}>
                  <AccountLink account={account} />
                  <Number value={sum.links} />
                  <Growth {...sum} />
                </tr>
              ))}
            </ScrollTable>
          </div>
          <div class="card stack">
            <h2>{text.newestAccounts}</h2>
            <ScrollTable
              label={text.newestAccounts}
              columns={[
                ...[common.account, common.created],
                ...[{ number: common.links }, { number: common.clicks }],
              ]}
              isPreview
            >
              {value.accounts.map(({ account, createdAt, links, clicks }) => (
                <tr key={account}>
                  <AccountLink account={account} />
                  <td>{formatTime(createdAt)}</td>
                  <Number value={links} />
                  <Number value={clicks} />
                </tr>
              ))}
            </ScrollTable>
          </div>
          <div class="card stack">
            <h2>{text.sharedDestinations}</h2>
            <p class="soft">{text.sharedHint}</p>
            {value.destinations.length === 0 ? (
              <p>{text.noneShared}</p>
            ) : (
              <ScrollTable
                label={text.sharedDestinations}
                columns={[
                  common.destination,
                  ...[{ number: text.accounts }, { number: common.links }],
                ]}
                isPreview
              >
                {value.destinations.map(({ host, accounts, links }) => (
                  <tr key={host}>
                    <td>
                      <a href={linksOf({ destination: host })}>{host}</a>
                    </td>
                    <Number value={accounts} />
                    <Number value={links} />
                  </tr>
                ))}
              </ScrollTable>
            )}
          </div>
        </>
      )}
      {tools.dialogs}
    </Page>
  );
};
