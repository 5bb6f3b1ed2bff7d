import type { FirstKey } from '../../command-api/main.js';

const welcome = (api: string, { firstKey, console }: FirstKey): string => `
Your API key (plan PRO), shown this once: ${firstKey}
${console === undefined ? '' : `\nOpen the console, once, within 10 minutes (again: npx linklog console):\n\n${console}\n`}
Create a short link:

curl -s ${api}/v2/shorten -H 'Authorization: Bearer ${firstKey}' \
-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'

`;

export const printRestarted = (restarted: object): void => {
  process.stdout.write(`${JSON.stringify({ event: 'restarted', ...restarted })}\n`);
};

/**
 * Prints the ready line. If this start created the first key, it prints a text for humans before it: the key, the
 * console's address, and a command that works when pasted.
 */
export const printReady = (details: object, api: string, firstKey: FirstKey | null): void => {
  if (firstKey) process.stdout.write(welcome(api, firstKey));
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...details, ...firstKey })}\n`);
};
