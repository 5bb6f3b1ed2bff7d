import type { ComponentChildren } from 'preact';
import type { HistoryResponse } from '../../../../schemas/http/history.js';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import { formatTime } from '../../format.js';
import {
  type AddressedLink,
  linkPage,
  linkPath,
  subjectOfLink,
  withQuery,
} from '../../link-address.js';
import { restorableUntil } from '../../link-end.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import type { Failure, Result } from '../app/api.js';
import { useAction, useApi } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { NoPage, Page } from '../app/shell.js';
import { History } from '../components/history.js';
import { lazy } from '../components/lazy.js';
import { Trouble } from '../components/trouble.js';
import { LiveEvents } from '../live/live-events.js';
import { usePeriodStats } from '../statistics/period-stats.js';
import { Statistics } from '../statistics/statistics.js';
import { Codes } from './codes.js';
import { LinkSummary, LinkTabs, useLinkRoute } from './link-summary.js';
import { deletedText, sendChange, sendRestore, Settings } from './settings.js';
import { Shares } from './shares.js';

const { common, link: text } = texts;

interface Props {
  readonly link: LinkDetails;
  /** The path and query of the link in `/v2`. */
  readonly path: string;
  /** Whether the user may change links, and the settings are not shown anyway. */
  readonly canWrite: boolean;
  readonly canCreate: boolean;
  readonly onChanged: () => void;
}

interface ReviveProps extends Pick<Props, 'onChanged'> {
  readonly verb: string;
  readonly call: () => Promise<Result<unknown>>;
}

const Revive = ({ verb, call, onChanged }: ReviveProps) => {
  const { isBusy, failure, run } = useAction();
  const revive = async (): Promise<void> => {
    if (await run(call)) onChanged();
  };
  return (
    <>
      <button type="button" class="small" aria-disabled={isBusy} onClick={() => void revive()}>
        {verb}
      </button>
      <Trouble failure={failure} />
    </>
  );
};

/** The maximum of a page of the history. */
const maxEvents = 1_000;

/** The time of the click that reached the limit; `null` while it is loaded, or after more changes than a page has. */
const useUsedUpAt = (link: LinkDetails): string | null => {
  const address = linkPath('/v2/links', link, '/history', { limit: String(maxEvents) });
  const { value } = useApi<HistoryResponse>(address);
  const expiry = value?.events.findLast(({ type }) => type.startsWith('linklog.LinkExpired.'));
  return expiry && value?.next === null ? formatTime(expiry.time) : null;
};

const UsedUp = ({ link }: { readonly link: LinkDetails }) => {
  const time = useUsedUpAt(link);
  const limit = formatNumber(link.maxClicks ?? link.clickCount);
  return <>{time === null ? text.isUsedUp(limit) : text.isUsedUpSince(limit, time)}</>;
};

const isPast = (time: string | null): time is string =>
  time !== null && Date.parse(time) <= Date.now();

const reasonOf = (props: Props): readonly [reason: ComponentChildren, way: ComponentChildren] => {
  const { link, path, canWrite, canCreate, onChanged } = props;
  const enable = () => sendChange(props, 'PATCH', { disabled: false });
  const restore = () => sendRestore(path);
  const setting = (title: string): ComponentChildren =>
    canWrite && <a href={linkPage(link, 'settings')}>{title}</a>;
  switch (link.status) {
    case 'active':
      return [null, null];
    case 'disabled':
      return [
        text.isDisabled,
        canWrite && <Revive verb={common.enable} call={enable} onChanged={onChanged} />,
      ];
    case 'scheduled':
      return [text.isScheduled(formatTime(link.startsAt ?? '')), setting(text.changeStart)];
    case 'expired':
      return isPast(link.expiresAt)
        ? [text.isExpired(formatTime(link.expiresAt)), setting(text.changeEnd)]
        : [<UsedUp key={link.version} link={link} />, setting(text.changeLimit)];
    case 'blocked':
      return [text.isBlocked, null];
    case 'deleted':
      return [
        deletedText(link),
        canWrite && restorableUntil(link) !== null ? (
          <Revive verb={common.restore} call={restore} onChanged={onChanged} />
        ) : (
          canCreate && (
            <a href={withQuery('/console/new', { url: link.url })}>{text.createAnother}</a>
          )
        ),
      ];
  }
};

/** Why a link does not redirect, and how to change that. Nothing for an active link. */
const NotRedirecting = (props: Props) => {
  const [reason, way] = reasonOf(props);
  if (reason === null) return null;
  return (
    <p class="row stopped" role="status">
      <span>{reason}</span> {way}
    </p>
  );
};

const QrCode = lazy(() => import('./qr-code.js').then((module) => module.QrCode));

const tabs = [
  ['', common.statistics],
  ['qr', common.qrCode, 'qr:read'],
  ['settings', common.settings, 'links:write'],
  ['history', common.history],
] as const;

const isMissing = (failure: Failure | undefined): boolean =>
  failure?.kind === 'refused' && failure.status === 404;

const LinkStatistics = ({ code }: { readonly code: string }) => (
  <Statistics stats={usePeriodStats(code)} />
);

const OneLink = (props: { readonly address: AddressedLink; readonly tab: string }) => {
  const { address } = props;
  const { scopes } = useOwner();
  const offered = tabs.filter(([, , scope]) => scope === undefined || scopes.includes(scope));
  const isKnown = tabs.some(([name]) => name === props.tab);
  const tab = offered.some(([name]) => name === props.tab) ? props.tab : '';
  const canWrite = scopes.includes('links:write');
  const path = linkPath('/v2/links', address);
  const { value: link, failure, reload } = useApi<LinkDetails>(path);
  if (!isKnown) return <NoPage back={linkPage(address)} />;
  return (
    <Page title={link?.title ?? subjectOfLink(address)}>
      <Trouble failure={failure} onRetry={reload} />
      {link && (
        <LinkSummary
          link={link}
          notice={
            // The settings of a deleted link say it too.
            !(link.status === 'deleted' && tab === 'settings') && (
              <NotRedirecting
                link={link}
                path={path}
                canWrite={canWrite && tab !== 'settings'}
                canCreate={scopes.includes('links:create')}
                onChanged={reload}
              />
            )
          }
        />
      )}
      {!isMissing(failure) && <LinkTabs tabs={offered} address={address} tab={tab} />}
      {!failure && tab === '' && <LinkStatistics code={address.shortCode} />}
      {link && tab === '' && <LiveEvents {...address} />}
      {link && tab === 'qr' && <QrCode link={address} />}
      {link && tab === 'settings' && (
        <Settings link={link} path={path} onChanged={reload}>
          <Codes link={link} onChanged={reload} />
          <Shares link={link} />
        </Settings>
      )}
      {link && tab === 'history' && <History base="/v2/links" link={address} />}
    </Page>
  );
};

export const LinkPage = () => {
  const { address, tab } = useLinkRoute();
  // A new key resets the state for another link.
  return <OneLink key={subjectOfLink(address)} address={address} tab={tab} />;
};
