import type { FirstKey } from '../../command-api/main.js';

const welcome = (api: string, { firstKey, console }: FirstKey): string => `
Your API key (plan PRO), shown this once: ${firstKey}
${console === undefined ? '' : `\nOpen the console, once, within 10 minutes (again: npx linklog console):\n\n${console}\n`}
Make a short link:

curl -s ${api}/v2/shorten -H 'Authorization: Bearer ${firstKey}' \
-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'

`;

/** Prints that a process was started again. */
export const sayRestarted = (restarted: object): void => {
  process.stdout.write(`${JSON.stringify({ event: 'restarted', ...restarted })}\n`);
};

/**
 * Prints the ready line. Before it, where a new installation has just made its first key, comes a text
 * for a person: the key, the console's address, and a command that works when pasted.
 */
export const sayReady = (details: object, api: string, firstKey: FirstKey | null): void => {
  if (firstKey) process.stdout.write(welcome(api, firstKey));
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...details, ...firstKey })}\n`);
};
