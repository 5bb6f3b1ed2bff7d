import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http.js';
import { eventually } from './waiting.js';

/** The service caches a health report for 500 ms. */
const reportCachedMs = 550;

interface Report {
  readonly projections: readonly { readonly lag: number | null }[];
  readonly spool: { readonly events: number };
}

/**
 * Waits until every event from before the call is in every projection. A cached report may be older than the last
 * change, so only later reports count.
 */
export const waitUntilProjected = async (edges: readonly string[]): Promise<void> => {
  await sleep(reportCachedMs);
  await eventually('the projections are caught up', async () => {
    for (const edge of edges) {
      const report = (await sendRequest(`${edge}/health/ready`)).json() as Report;
      if (report.projections.some(({ lag }) => lag !== 0) || report.spool.events > 0) return false;
    }
    return true;
  });
};
