import { useRoute } from 'preact-iso/router';
import { formatNumber, formatTime } from '../../format.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { LinkDetails } from '../app/types.js';
import { CopyButton } from '../components/copy-button.js';
import { Trouble } from '../components/trouble.js';
import { Statistics } from '../statistics/statistics.js';
import { History } from '../components/history.js';
import { QrCode } from './qr-code.js';
import { Settings } from './settings.js';

const tabs = [
  ['', 'Statistics'],
  ['qr', 'QR code'],
  ['settings', 'Settings'],
  ['history', 'History'],
] as const;

const Facts = ({ link }: { readonly link: LinkDetails }) => (
  <section class="card facts" aria-label="The link">
    <p class="row">
      <a class="clip" href={link.shortUrl} target="_blank" rel="noreferrer">
        {link.shortUrl}
      </a>
      <CopyButton text={link.shortUrl} what="the short link" />
      <span class={`badge ${link.status}`}>{link.status}</span>
      {link.hasPassword && <span class="badge">password</span>}
    </p>
    <p class="long clamp">
      <span class="soft">leads to</span> <bdi>{link.url}</bdi>
    </p>
    <p class="soft">
      {formatNumber(link.clickCount)} clicks in all
      {link.maxClicks !== null && <> of {formatNumber(link.maxClicks)}</>}. Made{' '}
      {formatTime(link.createdAt)}
      {link.expiresAt !== null && <>, expires {formatTime(link.expiresAt)}</>}.
    </p>
    {link.note !== null && (
      <p class="long">
        <bdi>{link.note}</bdi>
      </p>
    )}
  </section>
);

const OneLink = ({ code, tab }: { readonly code: string; readonly tab: string }) => {
  const path = `/v2/links/${encodeURIComponent(code)}`;
  const { value: link, failure, reload } = useLoad(() => callApi<LinkDetails>(path), path);
  return (
    <Page title={link?.title ?? code}>
      <Trouble failure={failure} onRetry={reload} />
      {link && <Facts link={link} />}
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
      {link && tab === '' && <Statistics shortCode={code} />}
      {link && tab === 'qr' && <QrCode shortCode={code} />}
      {link && tab === 'settings' && <Settings key={link.version} link={link} onChanged={reload} />}
      {link && tab === 'history' && <History path={`${path}/history`} />}
    </Page>
  );
};

export const LinkPage = () => {
  const { code = '', tab = '' } = useRoute().params;
  // Nothing of one link on the page of another.
  return <OneLink key={code} code={code} tab={tab} />;
};
