import { createHash } from 'node:crypto';

/** Contrast is 4.5 or more everywhere, in both schemes, and 3 or more for borders and focus. */
const commonStyle = `
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

/** A page and its Content-Security-Policy. */
export interface Page {
  readonly html: Buffer;
  readonly securityPolicy: string;
}

/** Escapes the characters that are special in HTML text and in quoted attributes. */
export const escapeHtml = (text: string): string =>
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
export const createPage = (parts: {
  readonly title: string;
  /** The heading, if it differs from the title. */
  readonly heading?: string;
  readonly body: string;
  /** Where its form may lead, as in a Content-Security-Policy. */
  readonly formAction?: string;
  /** Further lines of the head. */
  readonly head?: string;
  readonly language?: string;
  /** CSS after the common style. */
  readonly style?: string;
}): Page => {
  const { title, heading = title, body, formAction = "'none'", head = '', language = 'en' } = parts;
  const style = commonStyle + (parts.style ?? '');
  const html = `<!doctype html>
<html lang="${language}">
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
  const styleHash = createHash('sha256').update(style).digest('base64');
  const securityPolicy =
    `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
    `form-action ${formAction}; frame-ancestors 'none'`;
  return { html: Buffer.from(html), securityPolicy };
};

/**
 * A form that posts to its own address, so it contains no data of the link. A password has at most 100 characters, and
 * `maxlength` counts UTF-16 code units, of which a character may have two.
 *
 * @param texts HTML; `error`: `null` before the first attempt
 */
export const passwordFields = (
  texts: Readonly<Record<'text' | 'label' | 'button', string>> & { readonly error: string | null },
): string => `<p>${texts.text}</p>
<form method="post">
<label for="password">${texts.label}</label>
<input id="password" name="password" type="password" required maxlength="200"
  autocomplete="current-password" autofocus${
    texts.error === null ? '' : ' aria-invalid="true" aria-describedby="error"'
  }>
${texts.error === null ? '' : `<p class="error" id="error" role="alert">${texts.error}</p>\n`}<button type="submit">${texts.button}</button>
</form>`;
