import type { LinkDetails } from '../../../../schemas/http/links.js';
import { type AddressedLink, linkPath, subjectOfLink } from '../../link-address.js';
import { texts } from '../../texts.js';
import { type Failure } from '../app/api.js';
import { useApi } from '../app/hooks.js';
import { useScope } from '../app/scopes.js';
import { Page } from '../app/shell.js';
import { History } from '../components/history.js';
import { lazy } from '../components/lazy.js';
import { Trouble } from '../components/trouble.js';
import { LiveEvents } from '../live/live-events.js';
import { usePeriodStats } from '../statistics/period-stats.js';
import { Statistics } from '../statistics/statistics.js';
import { LinkSummary, LinkTabs, useLinkRoute } from './link-summary.js';
import { NotRedirecting } from './not-redirecting.js';
import { Settings } from './settings.js';

const { common } = texts;

const QrCode = lazy(() => import('./qr-code.js').then((module) => module.QrCode));

const tabs = [
  ['', common.statistics],
  ['qr', common.qrCode],
  ['settings', common.settings],
  ['history', common.history],
] as const;

const isMissing = (failure: Failure | undefined): boolean =>
  failure?.kind === 'refused' && failure.status === 404;

const LinkStatistics = ({ code }: { readonly code: string }) => (
  <Statistics stats={usePeriodStats(code)} />
);

const OneLink = (props: { readonly address: AddressedLink; readonly tab: string }) => {
  const { address, tab } = props;
  const canWrite = useScope('links:write');
  const path = linkPath('/v2/links', address);
  const { value: link, failure, reload } = useApi<LinkDetails>(path);
  return (
    <Page title={link?.title ?? subjectOfLink(address)}>
      <Trouble failure={failure} onRetry={reload} />
      {link && (
        <LinkSummary
          link={link}
          notice={
            <NotRedirecting
              link={link}
              path={path}
              canWrite={canWrite && tab !== 'settings'}
              onChanged={reload}
            />
          }
        />
      )}
      {!isMissing(failure) && <LinkTabs tabs={tabs} address={address} tab={tab} />}
      {!failure && tab === '' && <LinkStatistics code={address.shortCode} />}
      {link && tab === '' && <LiveEvents {...address} />}
      {link && tab === 'qr' && <QrCode link={address} />}
      {link && tab === 'settings' && <Settings link={link} path={path} onChanged={reload} />}
      {link && tab === 'history' && <History base="/v2/links" link={address} />}
    </Page>
  );
};

export const LinkPage = () => {
  const { address, tab } = useLinkRoute();
  // A new key resets the state for another link.
  return <OneLink key={subjectOfLink(address)} address={address} tab={tab} />;
};
