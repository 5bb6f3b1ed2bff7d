import { createPage, escapeHtml, passwordFields, type Page } from '../../ops/http/page.js';
import { messages } from '../../schemas/http/errors.js';
import type { LinkOptions } from '../../schemas/link-options.js';
import type { PreviewDecision } from './decision.js';

/** Chromium applies `form-action` also to the redirect after the form, so `'self'` alone would block it. */
const formTargets = "'self' http: https:";

/** The page with a form that may also lead to destinations with these schemes. */
export const leadingTo = (page: Page, schemes: readonly string[]): Page => {
  const targets = [formTargets, ...schemes.map((scheme) => `${scheme}:`)].join(' ');
  return { ...page, securityPolicy: page.securityPolicy.replace(formTargets, targets) };
};

const notice = (title: string, text: string): Page => createPage({ title, body: `<p>${text}</p>` });

const passwordForm = (wrong: boolean): Page =>
  createPage({
    // Screen readers read the title first.
    title: wrong ? 'Error: password required' : 'Password required',
    heading: 'Password required',
    formAction: formTargets,
    body: passwordFields({
      text: 'This link is protected. Enter its password to go on.',
      label: 'Password',
      button: 'Continue',
      error: wrong ? 'That password is wrong. Please try again.' : null,
    }),
  });

/** Static pages: they contain no data of a request. */
export const pages = {
  notFound: notice(
    'Short URL not found',
    'There is no link at this address. Check its spelling: capital and small letters differ.',
  ),
  expired: notice(
    'This link has expired',
    'It no longer leads anywhere. The person who shared it may have a new one.',
  ),
  deleted: notice(
    'This link has been deleted',
    'It no longer leads anywhere. The person who shared it may have a new one.',
  ),
  disabled: notice(
    'This link is disabled',
    'It leads nowhere at the moment. The person who shared it can enable it again.',
  ),
  blocked: notice(
    'This link has been blocked',
    'It was found to be unsafe or abusive, and no longer leads anywhere.',
  ),
  continueForm: createPage({
    title: 'A short link',
    formAction: formTargets,
    body: `<p>This link can be opened a limited number of times. Continue to its destination.</p>
<form method="post">
<button type="submit">Continue</button>
</form>`,
  }),
  prefetch: notice('Not fetched ahead', 'Follow the link to be taken to its destination.'),
  maintenance: notice('Down for maintenance', 'Short links will work again soon.'),
  unavailable: notice('Temporarily unavailable', 'Please try again in a moment.'),
  passwordForm: passwordForm(false),
  wrongPassword: passwordForm(true),
} as const;

export type PageName = keyof typeof pages;

/** The heading is the `message` of the JSON error. */
export const tooManyAttemptsPage = (retryAfterSeconds: number): Page =>
  createPage({
    title: messages.tooManyAttempts,
    body: `<p>The password can be entered again in ${retryAfterSeconds} second${
      retryAfterSeconds === 1 ? '' : 's'
    }.</p>
<p><a href="">Back to the password</a></p>`,
  });

/** Makes Microsoft Office open the short URL in the browser: see `ops/visitors/agents.ts`. */
export const refreshPage = (path: string): Page => {
  const address = escapeHtml(path);
  return createPage({
    title: 'Opening the link',
    body: `<p><a href="${address}">Continue to the link</a></p>`,
    head: `<meta http-equiv="refresh" content="0;url=${address}">\n`,
  });
};

type Card = NonNullable<LinkOptions['card']>;

/** The tags of Open Graph and of Twitter, which has its own name for the size of the image. */
const cardTags = ({ title, description, image }: Card): string => {
  const shared = { title, description, image };
  const tagsOf = (attribute: string, prefix: string, values: object): readonly string[] =>
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [`<meta ${attribute}="${prefix}:${name}" content="${escapeHtml(String(value))}">\n`],
    );
  const size = image === undefined ? 'summary' : 'summary_large_image';
  return [
    ...tagsOf('property', 'og', { type: 'website', ...shared }),
    ...tagsOf('name', 'twitter', { card: size, ...shared }),
  ].join('');
};

/**
 * The page for the preview of a link in messages and posts.
 *
 * @param location `null`: only counted visitors may see it
 */
export const cardPage = (card: Card, location: string | null): Page => {
  const description = card.description ?? '';
  return createPage({
    title: escapeHtml(card.title),
    head: cardTags(card),
    body: `<p>${escapeHtml(description)}</p>${location === null ? '' : `\n<dl>\n${destination(location)}\n</dl>`}`,
  });
};

type Preview = Extract<PreviewDecision, { readonly type: 'preview' }>;

const words = new Intl.DateTimeFormat('en', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
});

const moment = (ms: number): string => {
  const date = new Date(ms);
  return `<time datetime="${date.toISOString()}">${words.format(date)} UTC</time>`;
};

/** Shows the host separately, because it is hard to see in a long address. */
const destination = (location: string): string => {
  const text = escapeHtml(location);
  if (!/^https?:/i.test(location)) return `<dt>Destination</dt>\n<dd>${text}</dd>`;
  return `<dt>Website</dt>
<dd>${escapeHtml(new URL(location).host)}</dd>
<dt>Destination</dt>
<dd><a href="${text}" rel="noopener noreferrer nofollow">${text}</a></dd>`;
};

const destinations = (locations: Preview['locations']): string => {
  if (locations === null)
    return `<dt>Destination</dt>
<dd>Not shown: this link has a password or a limited number of visits.</dd>`;
  return locations.map(destination).join('\n');
};

/** Describes a link without a redirect. */
export const previewPage = ({ locations, createdAt, expiresAt }: Preview): Page =>
  createPage({
    title: 'Link preview',
    body: `<p>About this short link. Nothing was opened, and no visit was counted.</p>
<dl>
${destinations(locations)}
<dt>Created</dt>
<dd>${moment(createdAt)}</dd>
<dt>Expires</dt>
<dd>${expiresAt === null ? 'Never' : moment(expiresAt)}</dd>
</dl>`,
  });
