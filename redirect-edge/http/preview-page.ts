import type { PreviewAnswer } from '../domain/visit.js';
import { escapeHtml, makePage, type Page } from './page.js';

type Preview = Extract<PreviewAnswer, { readonly type: 'preview' }>;

const words = new Intl.DateTimeFormat('en', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
});

const moment = (ms: number): string => {
  const date = new Date(ms);
  return `<time datetime="${date.toISOString()}">${words.format(date)} UTC</time>`;
};

/** The host by itself too: whom to trust is hard to see in a long address. */
const destination = (location: string | null): string => {
  if (location === null)
    return `<dt>Destination</dt>
<dd>Not shown: this link has a password or a limited number of visits.</dd>`;
  const text = escapeHtml(location);
  return `<dt>Website</dt>
<dd>${escapeHtml(new URL(location).host)}</dd>
<dt>Destination</dt>
<dd><a href="${text}" rel="noopener noreferrer nofollow">${text}</a></dd>`;
};

/** What a link is, without following it. */
export const previewPage = ({ location, createdAt, expiresAt }: Preview): Page =>
  makePage({
    title: 'Link preview',
    body: `<p>About this short link. Nothing was opened, and no visit was counted.</p>
<dl>
${destination(location)}
<dt>Created</dt>
<dd>${moment(createdAt)}</dd>
<dt>Expires</dt>
<dd>${expiresAt === Infinity ? 'Never' : moment(expiresAt)}</dd>
</dl>`,
  });
