import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Writes a part of a body, and waits for a slow client. Returns when the client disconnects, too. The listener closes
 * connections without write progress.
 */
export const writePart = async (res: ServerResponse, part: string | Buffer): Promise<void> => {
  if (res.destroyed || res.write(part)) return;
  const controller = new AbortController();
  const { signal } = controller;
  try {
    await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]);
  } finally {
    // Removes the listeners of the event that did not occur.
    controller.abort();
  }
};
