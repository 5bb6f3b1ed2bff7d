import type { ComponentChildren } from 'preact';
import { useRoute } from 'preact-iso/router';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import { formatTime } from '../../format.js';
import { type AddressedLink, linkPage, textOfShortUrl } from '../../link-address.js';
import { statuses } from '../../link-filter.js';
import { texts } from '../../all-texts.js';
import { useTabsInView } from '../app/hooks.js';
import { CopyButton } from '../components/copy-button.js';
import { richText } from '../components/rich-text.js';
import { RuleList } from '../rules/rule-list.js';

const { common, link: text } = texts;

interface LinkRoute {
  readonly address: AddressedLink;
  /** Empty: the first tab. */
  readonly tab: string;
}

/** The link and the tab in the address of a link's page. */
export const useLinkRoute = (): LinkRoute => {
  const { params, query } = useRoute();
  const { code: shortCode = '', tab = '' } = params;
  const { domain = '' } = query;
  return { address: { shortCode, domain: domain === '' ? null : domain }, tab };
};

interface TabsProps extends LinkRoute {
  readonly tabs: readonly (readonly [name: string, title: string, ...unknown[]])[];
}

export const LinkTabs = ({ tabs, address, tab }: TabsProps) => (
  <nav ref={useTabsInView(tab)} class="tabs" aria-label={texts.link.aboutLink}>
    {tabs.map(([name, title]) => (
      <a key={name} href={linkPage(address, name)} aria-current={name === tab ? 'page' : undefined}>
        {title}
      </a>
    ))}
  </nav>
);

interface Props {
  readonly link: LinkDetails;
  /** Shown next to the status. */
  readonly children?: ComponentChildren;
  /** Shown after the status. */
  readonly notice?: ComponentChildren;
}

const isPast = (time: string): boolean => Date.parse(time) <= Date.now();

/** Clicks and times in one sentence. */
const summaryOf = (link: LinkDetails): string =>
  [
    text.clicks(link.clickCount),
    ...(link.clicksLeft === null ? [] : [text.clicksLeft(link.clicksLeft)]),
    text.createdAt(formatTime(link.createdAt)),
    ...(link.startsAt === null ? [] : [text.startsAt(formatTime(link.startsAt))]),
    ...(link.expiresAt === null
      ? []
      : [(isPast(link.expiresAt) ? text.expiredAt : text.expiresAt)(formatTime(link.expiresAt))]),
  ].join(', ');

export const LinkSummary = ({ link, children, notice }: Props) => (
  <section class="card facts" aria-label={text.theLink}>
    <p class="row">
      <a class="clip" href={link.shortUrl} target="_blank" rel="noreferrer">
        {textOfShortUrl(link.shortUrl)}
      </a>
      <CopyButton text={link.shortUrl} what={texts.components.theShortLink} />
      <span class={`badge ${link.status}`}>{statuses[link.status]}</span>
      {link.hasPassword && <span class="badge">{common.password}</span>}
      {children}
    </p>
    {notice}
    <p class="long clamp">
      {richText(link.status === 'active' ? common.redirectsTo : text.destinationIs, {
        url: <bdi>{link.url}</bdi>,
      })}
    </p>
    {link.rules && <RuleList rules={link.rules} />}
    <p class="soft">{summaryOf(link)}.</p>
    {link.note !== null && (
      <p class="long">
        <bdi>{link.note}</bdi>
      </p>
    )}
  </section>
);
