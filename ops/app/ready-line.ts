const welcome = (api: string, firstKey: string): string => `
Your API key (plan PRO), shown this once: ${firstKey}

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
 * for a person: the key, and a command that works when pasted.
 */
export const sayReady = (
  details: object,
  { api, firstKey }: { readonly api: string; readonly firstKey: string | null },
): void => {
  if (firstKey !== null) process.stdout.write(welcome(api, firstKey));
  const line = { event: 'ready', ...details, ...(firstKey !== null && { firstKey }) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
};
