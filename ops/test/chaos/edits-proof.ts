import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { publishedAddresses } from '../../app/data-dir.js';
import { startRedis, type RedisServer } from '../../local/redis.js';
import { serviceDir } from '../../local/stack/topology.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../platform/redis.js';
import { createLinks } from '../support/create-links.js';
import { parseExposition, total } from '../support/exposition.js';
import { sendRepeatable, sendRequest, type HttpResponse } from '../support/http.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

export interface EditsProof {
  /** The number of edits, a third in each of the circumstances. */
  readonly edits: number;
  /** Milliseconds until edges use copies in Redis; 0: they do not read Redis yet. */
  readonly trustAfterMs: number;
  readonly onProgress?: (line: string) => void;
}

export interface EditsReport {
  /** Milliseconds from an edit until the last edge redirects to the new destination. */
  readonly times: Readonly<Record<string, readonly number[]>>;
  /** Copies of the time before the edit that were written to Redis again. */
  readonly copies: number;
  /** Copies in Redis that the edges used and refused. */
  readonly lookups: Readonly<Record<'hit' | 'refused', number>>;
  /** Edits that an edge no longer served later. */
  readonly wrong: readonly string[];
}

const linksOfBatch = 50;
const parallelEdits = 4;
const servedWithinMs = 20_000;
/** Time from an edit to the first visit at an edge without the link in memory. */
const uncachedVisitAfterMs = 50;
const rewindEveryMs = 10;

const visit = (edge: string, code: string): Promise<HttpResponse> =>
  sendRepeatable(`${edge}/${code}`);

const newUrl = (code: string): string => `https://example.com/edited/${code}`;

/** Visits a link until the edge redirects to the new destination. @returns the time */
const waitUntilServed = async (edge: string, code: string): Promise<number> => {
  const deadline = performance.now() + servedWithinMs;
  for (;;) {
    const { status, headers } = await visit(edge, code);
    const now = performance.now();
    if (headers.location === newUrl(code)) return now;
    if (status !== 302 || now > deadline) {
      throw new Error(`${code}: ${status} ${headers.location ?? ''}, long after its edit`);
    }
    await sleep(1);
  }
};

const createLinksOf = async (stack: RunningStack, count: number): Promise<readonly string[]> => {
  const { key } = await issueKey(stack, { plan: 'PRO' });
  const rounded = Math.ceil(count / linksOfBatch) * linksOfBatch;
  const api = stack.apis[0] ?? '';
  return (await createLinks(api, key, rounded, (n) => `https://example.com/${n}`)).slice(0, count);
};

/** The copies of these links in Redis. */
const copiesOf = async (
  redis: Redis,
  codes: readonly string[],
): Promise<ReadonlyMap<string, readonly [key: string, text: string]>> => {
  const keys = await redis.keys('*');
  const texts = keys.length > 0 ? await redis.mget(keys) : [];
  const copies = keys.map((key, index) => [key, texts[index] ?? ''] as const);
  return new Map(
    codes.flatMap((code) => {
      const copy = copies.find(([key]) => key.endsWith(`:${code}`));
      return copy ? [[code, copy]] : [];
    }),
  );
};

/**
 * Edits links of a running stack: a third without faults, a third while Kafka is stopped, and a third while the copies
 * of the time before the edit are written to Redis again, first continuously and then by a restart with an old dump.
 * Every second link is in the memory of only one edge.
 */
export const proveEdits = async (proof: EditsProof): Promise<EditsReport> => {
  const { edits, trustAfterMs, onProgress = () => undefined } = proof;
  const logger = createLogger('silent');
  const dataDir = await temporaryDir();
  const startServer = (port?: number): Promise<RedisServer> =>
    startRedis({ dataDir, logger, tied: true, dump: true, ...(port !== undefined && { port }) });
  let server = await startServer();
  const redis = await openRedis(server.url, logger);
  const times: Record<string, number[]> = {};
  const wrong: string[] = [];
  let copies = 0;

  const prove = async (stack: RunningStack): Promise<EditsReport['lookups']> => {
    const { edges } = stack;
    const [first = ''] = edges;

    const lookups = async (result: string): Promise<number> => {
      let sum = 0;
      for (const index of edges.keys()) {
        const admin = (await publishedAddresses(serviceDir(stack.dataDir, 'edge', index)))?.admin;
        if (admin === undefined) throw new Error(`edge ${index} published no admin address`);
        const { text } = await sendRequest(`${admin}/metrics`);
        sum += total(parseExposition(text), 'linklog_edge_shared_cache_lookups_total', { result });
      }
      return sum;
    };

    /** Edits a link that the edges `cachedAt` have in memory, and measures at the edges `visitedAt`. */
    const edit = async (
      circumstance: string,
      code: string,
      { cachedAt, visitedAt }: Record<'cachedAt' | 'visitedAt', readonly string[]>,
    ): Promise<void> => {
      const sentAt = performance.now();
      const editing = sendRepeatable(`${stack.admin}/admin/links/${code}`, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${stack.adminToken}` },
        body: { url: newUrl(code) },
      });
      const [{ status, text }, ...seen] = await Promise.all([
        editing,
        ...visitedAt.map(async (edge) => {
          if (!cachedAt.includes(edge)) await sleep(uncachedVisitAfterMs);
          return waitUntilServed(edge, code);
        }),
      ]);
      // 503: the log was too slow on a busy machine, but the edit is committed.
      if (![200, 202, 503].includes(status)) throw new Error(`${code}: ${status} ${text}`);
      (times[circumstance] ??= []).push(Math.max(...seen) - sentAt);
    };

    /** Records the edges that do not redirect to the new destination. */
    const checkServed = async (what: string, codes: readonly string[]): Promise<void> => {
      for (const code of codes) {
        for (const [index, edge] of edges.entries()) {
          const { status, headers } = await visit(edge, code);
          if (headers.location === newUrl(code)) continue;
          wrong.push(`${what}, edge ${index}, ${code}: ${status} ${headers.location ?? ''}`);
        }
      }
    };

    const cachingEdges = (index: number): readonly string[] => (index % 2 === 0 ? edges : [first]);

    const warmUp = async (codes: readonly string[]): Promise<void> => {
      for (const [index, code] of codes.entries()) {
        for (const edge of cachingEdges(index)) await visit(edge, code);
      }
    };

    const editAll = async (circumstance: string, codes: readonly string[]): Promise<void> => {
      await warmUp(codes);
      const limit = pLimit(parallelEdits);
      await Promise.all(
        codes.map((code, index) =>
          limit(() =>
            edit(circumstance, code, { cachedAt: cachingEdges(index), visitedAt: edges }),
          ),
        ),
      );
      await checkServed(circumstance, codes);
      onProgress(`${codes.length} edits: ${circumstance}`);
    };

    const whileKafkaIsStopped = async (work: () => Promise<void>): Promise<void> => {
      for (const pid of stack.pids.kafka) process.kill(pid, 'SIGSTOP');
      try {
        await work();
      } finally {
        for (const pid of stack.pids.kafka) process.kill(pid, 'SIGCONT');
      }
    };

    /** Kills Redis, and restarts it with the old dump. */
    const restore = async (dump: string): Promise<void> => {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await copyFile(`${dump}.old`, dump);
      server = await startServer(Number(new URL(server.url).port));
      await eventually('Redis answers', () => redis.status === 'ready');
    };

    const editWithOldCopies = async (codes: readonly string[]): Promise<void> => {
      const circumstance = 'old copies in Redis';
      await warmUp(codes);
      const old = await copiesOf(redis, codes);
      copies += old.size;
      await redis.save();
      const dump = path.join(dataDir, 'dump.rdb');
      await copyFile(dump, `${dump}.old`);
      const ended = new AbortController();
      const rewind = async (): Promise<void> => {
        while (!ended.signal.aborted) {
          const pipeline = redis.pipeline();
          for (const [key, text] of old.values()) pipeline.set(key, text, 'PX', 60_000);
          await pipeline.exec();
          await sleep(rewindEveryMs);
        }
      };
      const rewinding = rewind();
      const limit = pLimit(parallelEdits);
      try {
        await Promise.all(
          codes.map((code, index) =>
            // The other edge is only notified, and reads the link after Redis was restored.
            limit(() =>
              edit(circumstance, code, {
                cachedAt: cachingEdges(index),
                visitedAt: cachingEdges(index),
              }),
            ),
          ),
        );
      } finally {
        ended.abort();
        await rewinding;
      }
      await sleep(1_000);
      await restore(dump);
      // The circuit breaker of Redis closes with a successful look-up.
      const countLookups = async (): Promise<number> =>
        (await lookups('miss')) + (await lookups('hit'));
      const before = await countLookups();
      if (trustAfterMs > 0) {
        await eventually('edges read Redis', async () => {
          for (const edge of edges) await visit(edge, 'unknown');
          return (await countLookups()) > before;
        });
      }
      await checkServed('an old dump of Redis', codes);
      onProgress(`${codes.length} edits: ${circumstance}`);
    };

    const third = Math.ceil(edits / 3);
    const codes = await createLinksOf(stack, edits);
    await editAll('all runs', codes.slice(0, third));
    await whileKafkaIsStopped(() => editAll('Kafka stopped', codes.slice(third, 2 * third)));
    await sleep(trustAfterMs);
    for (let from = 2 * third; from < edits; from += linksOfBatch) {
      await editWithOldCopies(codes.slice(from, from + linksOfBatch));
    }
    await checkServed('at the end', codes);
    return { hit: await lookups('hit'), refused: await lookups('refused') };
  };

  try {
    const stack = await startStackProcess({ REDIS_URL: server.url });
    try {
      const lookups = await prove(stack);
      return { times, copies, lookups, wrong };
    } finally {
      await stack.stop();
    }
  } finally {
    redis.disconnect();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
};
