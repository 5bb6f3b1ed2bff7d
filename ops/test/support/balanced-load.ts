import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../platform/errors.js';
import { sendRequest, type HttpResponse } from './http.js';

/** Pause between two requests of a client (ms). */
const pauseMs = 20;
/** A load balancer sends a request to another node within this time (ms). */
const balancedMs = 5_000;

interface Answer {
  readonly at: number;
  /** 0: no node accepted the connection. */
  readonly status: number;
}

/** The longest time between the start of a failed request and the next success (ms). */
export const longestOutage = (
  answers: readonly Answer[],
  isSuccess: (status: number) => boolean,
): number => {
  let longest = 0;
  let failedAt: number | null = null;
  for (const { at, status } of answers) {
    if (isSuccess(status)) failedAt = null;
    else {
      failedAt ??= at;
      longest = Math.max(longest, at - failedAt);
    }
  }
  return longest;
};

interface LoadResult {
  readonly creations: readonly Answer[];
  readonly redirects: readonly Answer[];
  /** The codes of the responses with 201. */
  readonly acknowledged: readonly string[];
}

/**
 * Creates links and visits known links like clients behind a load balancer: a node that refuses a connection, or breaks it
 * before it responds, is replaced by the next one.
 */
export const startLoad = (options: {
  readonly apis: () => readonly string[];
  readonly edges: () => readonly string[];
  /** Used round-robin. */
  readonly keys: readonly string[];
  readonly known: readonly string[];
}) => {
  const { apis, edges, keys, known } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const creations: Answer[] = [];
  const redirects: Answer[] = [];
  const acknowledged: string[] = [];
  let sent = 0;

  const balanced = async (
    nodes: () => readonly string[],
    send: (node: string) => Promise<HttpResponse>,
  ): Promise<HttpResponse | null> => {
    const deadline = performance.now() + balancedMs;
    while (performance.now() < deadline) {
      for (const [index] of nodes().entries()) {
        const list = nodes();
        const node = list[(sent + index) % list.length];
        if (node === undefined) continue;
        try {
          return await send(node);
        } catch (error) {
          // A node that exits breaks the connection, and the next node gets the request.
          if (!hasCode(error, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT')) throw error;
        }
      }
      await sleep(pauseMs);
    }
    return null;
  };

  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      sent += 1;
      await work();
      await sleep(pauseMs);
    }
  };

  const create = async (): Promise<void> => {
    const at = performance.now();
    const response = await balanced(apis, (api) =>
      sendRequest(`${api}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${keys[sent % keys.length] ?? ''}` },
        body: { url: `https://example.com/${sent}` },
      }),
    );
    creations.push({ at, status: response?.status ?? 0 });
    if (response?.status === 201) {
      acknowledged.push((response.json() as { shortCode: string }).shortCode);
    }
  };

  const visit = async (): Promise<void> => {
    const at = performance.now();
    const code = known[sent % known.length] ?? '';
    const response = await balanced(edges, (edge) => sendRequest(`${edge}/${code}`));
    redirects.push({ at, status: response?.status ?? 0 });
  };

  const clients = [repeat(create), repeat(create), repeat(visit), repeat(visit)];
  return {
    creations,
    redirects,
    acknowledged,
    async stop(): Promise<LoadResult> {
      stopping.abort();
      await Promise.all(clients);
      return { creations, redirects, acknowledged };
    },
  };
};

/** Counts the answers by status. */
export const countByStatus = (answers: readonly Answer[]): Readonly<Record<number, number>> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
