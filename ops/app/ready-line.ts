import type { FirstKey } from '../../command-api/main.js';
import { linklogCommand, quoted } from '../platform/process/own-command.js';

interface ShownKey extends FirstKey {
  /** The file with the header of the key. */
  readonly firstKeyHeader?: string;
}

const post = (api: string): string => `curl -s ${api}/v2/shorten \
-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`;

/** Every user of the machine can read the arguments of curl, so the key is in a file, or on stdin. */
const exampleCall = (api: string, { firstKey, firstKeyHeader: file }: ShownKey): string =>
  file === undefined
    ? `${post(api)} -H @- <<'END'\nAuthorization: Bearer ${firstKey}\nEND`
    : `${post(api)} -H @${quoted(file)}`;

const consoleAddress = (url: string): string => `
Open the console, once, within 10 minutes (again: ${linklogCommand()} console):

${url}
`;

export const welcome = (api: string, key: ShownKey): string => `
Your API key (plan PRO), shown this once: ${key.firstKey}
${key.console === undefined ? '' : consoleAddress(key.console)}
Create a short link:

${exampleCall(api, key)}

`;

export const printRestarted = (restarted: object): void => {
  process.stdout.write(`${JSON.stringify({ event: 'restarted', ...restarted })}\n`);
};

/**
 * Prints the ready line. If this start created the first key, it prints a text for humans before it: the key, the
 * console's address, and a command that works when pasted.
 */
export const printReady = (details: object, api: string, firstKey: ShownKey | null): void => {
  if (firstKey) process.stdout.write(welcome(api, firstKey));
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...details, ...firstKey })}\n`);
};
