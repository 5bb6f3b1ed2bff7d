/** For a person: what a new installation begins with, and a line that works when pasted. */
export const welcome = (api: string, firstKey: string): string =>
  [
    '',
    `Your API key (plan PRO), shown this once: ${firstKey}`,
    '',
    'Make a short link:',
    '',
    `curl -s ${api}/v2/shorten -H 'Authorization: Bearer ${firstKey}' ` +
      `-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`,
    '',
    '',
  ].join('\n');
