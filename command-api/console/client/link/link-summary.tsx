import type { ComponentChildren } from 'preact';
import { formatTime } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import { textOfShortUrl } from '../../link-address.js';
import type { LinkDetails } from '../app/types.js';
import { CopyButton } from '../components/copy-button.js';
import { RuleList } from '../rules/rule-list.js';

interface Props {
  readonly link: LinkDetails;
  /** Next to the status. */
  readonly children?: ComponentChildren;
}

export const LinkSummary = ({ link, children }: Props) => (
  <section class="card facts" aria-label="The link">
    <p class="row">
      <a class="clip" href={link.shortUrl} target="_blank" rel="noreferrer">
        {textOfShortUrl(link.shortUrl)}
      </a>
      <CopyButton text={link.shortUrl} what="the short link" />
      <span class={`badge ${link.status}`}>{link.status}</span>
      {link.hasPassword && <span class="badge">password</span>}
      {children}
    </p>
    <p class="long clamp">
      <span class="soft">leads to</span> <bdi>{link.url}</bdi>
    </p>
    {link.rules && <RuleList rules={link.rules} />}
    <p class="soft">
      {formatNumber(link.clickCount)} clicks in all
      {link.clicksLeft !== null && <>, {formatNumber(link.clicksLeft)} left</>}. Made{' '}
      {formatTime(link.createdAt)}
      {link.startsAt !== null && <>, starts {formatTime(link.startsAt)}</>}
      {link.expiresAt !== null && <>, expires {formatTime(link.expiresAt)}</>}.
    </p>
    {link.note !== null && (
      <p class="long">
        <bdi>{link.note}</bdi>
      </p>
    )}
  </section>
);
