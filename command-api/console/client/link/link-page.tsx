import { useRoute } from 'preact-iso/router';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { LinkDetails } from '../app/types.js';
import { Trouble } from '../components/trouble.js';
import { Statistics, usePeriodStats } from '../statistics/statistics.js';
import { History } from '../components/history.js';
import { LinkSummary } from './link-summary.js';
import { QrCode } from './qr-code.js';
import { Settings } from './settings.js';

const tabs = [
  ['', 'Statistics'],
  ['qr', 'QR code'],
  ['settings', 'Settings'],
  ['history', 'History'],
] as const;

const LinkStatistics = ({ code }: { readonly code: string }) => (
  <Statistics stats={usePeriodStats(code)} />
);

const OneLink = ({ code, tab }: { readonly code: string; readonly tab: string }) => {
  const path = `/v2/links/${encodeURIComponent(code)}`;
  const { value: link, failure, reload } = useLoad(() => callApi<LinkDetails>(path), path);
  return (
    <Page title={link?.title ?? code}>
      <Trouble failure={failure} onRetry={reload} />
      {link && <LinkSummary link={link} />}
      <nav class="tabs" aria-label="About the link">
        {tabs.map(([name, title]) => (
          <a
            key={name}
            href={`/console/links/${code}${name && `/${name}`}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {!failure && tab === '' && <LinkStatistics code={code} />}
      {link && tab === 'qr' && <QrCode shortCode={code} />}
      {link && tab === 'settings' && (
        <Settings key={link.version} link={link} path={path} onChanged={reload} />
      )}
      {link && tab === 'history' && <History path={`${path}/history`} />}
    </Page>
  );
};

export const LinkPage = () => {
  const { code = '', tab = '' } = useRoute().params;
  // A new key resets the state for another link.
  return <OneLink key={code} code={code} tab={tab} />;
};
