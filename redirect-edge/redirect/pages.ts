import { createHash } from 'node:crypto';
import { messages } from '../../schemas/http/errors.js';
import type { LinkOptions } from '../../schemas/link-options.js';
import type { PreviewDecision } from './decision.js';

/** Contrast is 4.5 or more everywhere, in both schemes, and 3 or more for borders and focus. */
const style = `
:root { color-scheme: light dark; font: 100%/1.55 system-ui, sans-serif;
  --ground: #f2f4f7; --card: #ffffff; --text: #16191d; --soft: #4a525c; --line: #7a838e;
  --strong: #1a4fc4; --on-strong: #ffffff; --error: #a8201a; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #101317; --card: #1b2026; --text: #f3f5f7; --soft: #b9c1cb; --line: #87919d;
    --strong: #9dbdff; --on-strong: #0c1526; --error: #ffb3ab; }
}
* { box-sizing: border-box; }
body { overflow-wrap: anywhere; display: grid; place-items: center; min-height: 100vh; min-height: 100svh; margin: 0;
  padding: 1rem; background: var(--ground); color: var(--text); }
main { width: 100%; max-width: 28rem; padding: clamp(1.25rem, 6vw, 2rem); border-radius: .75rem;
  background: var(--card); box-shadow: 0 1px 3px rgb(0 0 0 / .25); }
h1 { margin: 0; font-size: 1.375rem; line-height: 1.3; text-wrap: balance; }
p { margin: .5rem 0 0; color: var(--soft); text-wrap: pretty; }
a { color: var(--strong); }
form { margin-top: 1.5rem; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
input, button { width: 100%; padding: .625rem .75rem; border-radius: .5rem; font: inherit; }
input { border: 1px solid var(--line); background: var(--card); color: var(--text); }
input[aria-invalid] { border: 2px solid var(--error); }
button { margin-top: 1rem; border: 1px solid var(--strong); background: var(--strong);
  color: var(--on-strong); font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
.error { margin: .375rem 0 0; color: var(--error); font-weight: 600; }
dl { margin: 1.25rem 0 0; }
dt { font-weight: 600; }
dd { margin: 0; color: var(--soft); }
dd + dt { margin-top: 1rem; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** A page and its Content-Security-Policy. */
export interface Page {
  readonly html: Buffer;
  readonly securityPolicy: string;
}

/** Chromium applies `form-action` also to the redirect after the form, so `'self'` alone would block it. */
const formTargets = "'self' http: https:";

const policyOf = (form: boolean): string =>
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
  `form-action ${form ? formTargets : "'none'"}; frame-ancestors 'none'`;

/** The page with a form that may also lead to destinations with these schemes. */
export const leadingTo = (page: Page, schemes: readonly string[]): Page => {
  const targets = [formTargets, ...schemes.map((scheme) => `${scheme}:`)].join(' ');
  return { ...page, securityPolicy: page.securityPolicy.replace(formTargets, targets) };
};

/** Escapes the characters that are special in HTML text and in quoted attributes. */
const escapeHtml = (text: string): string =>
  // A callback of `replace` would take ten times as long for a text of such characters.
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/**
 * A complete page. It loads nothing, runs no script, cannot be framed, and has only its own style. Only a page with a
 * form can submit one. All texts are HTML.
 */
const createPage = (parts: {
  readonly title: string;
  /** The heading, if it differs from the title. */
  readonly heading?: string;
  readonly body: string;
  readonly form?: boolean;
  /** Further lines of the head. */
  readonly head?: string;
}): Page => {
  const { title, heading = title, body, form = false, head = '' } = parts;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${body}
</main>
</body>
</html>
`;
  return { html: Buffer.from(html), securityPolicy: policyOf(form) };
};

const notice = (title: string, text: string): Page => createPage({ title, body: `<p>${text}</p>` });

/**
 * Posts to its own address, so it contains no data of the link. A password has at most 100 characters, and `maxlength`
 * counts UTF-16 code units, of which a character may have two.
 */
const passwordForm = (wrong: boolean): Page =>
  createPage({
    // Screen readers read the title first.
    title: wrong ? 'Error: password required' : 'Password required',
    heading: 'Password required',
    form: true,
    body: `<p>This link is protected. Enter its password to go on.</p>
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" required maxlength="200"
  autocomplete="current-password" autofocus${
    wrong ? ' aria-invalid="true" aria-describedby="error"' : ''
  }>
${wrong ? '<p class="error" id="error" role="alert">That password is wrong. Please try again.</p>\n' : ''}<button type="submit">Continue</button>
</form>`,
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
    form: true,
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
