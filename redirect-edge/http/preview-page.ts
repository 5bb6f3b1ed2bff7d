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

const destination = (location: string | null): string => {
  if (location === null)
    return 'Not shown: this link has a password or a limited number of visits.';
  const text = escapeHtml(location);
  return `<a href="${text}" rel="noopener noreferrer nofollow">${text}</a>`;
};

/** What a link is, without following it. */
export const previewPage = ({ location, createdAt, expiresAt }: Preview): Page =>
  makePage({
    title: 'Link preview',
    body: `<p>What this short link is. Nothing was opened, and no visit was counted.</p>
<dl>
<dt>Destination</dt>
<dd>${destination(location)}</dd>
<dt>Created</dt>
<dd>${moment(createdAt)}</dd>
<dt>Expires</dt>
<dd>${expiresAt === Infinity ? 'Never' : moment(expiresAt)}</dd>
</dl>`,
  });
