import { createHash } from 'node:crypto';

const style = `
:root { color-scheme: light dark; font: 100%/1.6 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 100vh; margin: 0; padding: 1rem;
  box-sizing: border-box; background: #fafafa; color: #1c1c1e; }
main { max-width: 32rem; text-align: center; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
p { margin: 0; color: #48484a; }
@media (prefers-color-scheme: dark) {
  body { background: #1c1c1e; color: #f5f5f7; }
  p { color: #c7c7cc; }
}`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing may be loaded, framed or submitted; only the page's own style applies. */
export const pageSecurityPolicy =
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
  `form-action 'none'; frame-ancestors 'none'`;

const page = (title: string, text: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${style}</style>
</head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`;

/** The pages are made once: nothing in them comes from a request. */
export const pages = {
  notFound: page('Short URL not found', 'There is no link at this address. Is it spelled right?'),
  expired: page('This link has expired', 'It no longer leads anywhere.'),
  blocked: page('This link has been blocked', 'It was found to be unsafe or abusive.'),
  concealed: page('A short link', 'Open it in a browser to be taken to its destination.'),
  maintenance: page('Down for maintenance', 'The service will be back soon.'),
  unavailable: page('Temporarily unavailable', 'Please try again in a moment.'),
} as const;

export type PageName = keyof typeof pages;
