import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { publishedAddresses } from '../../app/data-dir.js';
import { startRedis, type RedisServer } from '../../local/redis.js';
import { serviceDir } from '../../local/stack/topology.js';
import { hasCode } from '../../platform/errors.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../platform/redis.js';
import { createLinks } from '../support/create-links.js';
import { parseExposition, total } from '../support/exposition.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

export interface EditsProof {
  /** In all, a third of them in each of the circumstances. */
  readonly edits: number;
  /** Milliseconds before edges may believe Redis; less: they do not ask it yet. */
  readonly settlingMs: number;
  readonly onProgress?: (line: string) => void;
}

/** Milliseconds from the request of an edit to an answer of the last edge that leads to its destination. */
export interface EditsReport {
  readonly times: Readonly<Record<string, readonly number[]>>;
  /** Copies that were in Redis before the edit, and again after it. */
  readonly copies: number;
  /** What an edge did with copies that it found in Redis. */
  readonly lookups: Readonly<Record<'hit' | 'refused', number>>;
  /** Edits that an edge did not serve any more later on, in words. */
  readonly wrong: readonly string[];
}

const linksOfBatch = 50;
const editsAtOnce = 4;
const patienceMs = 20_000;
/** A link that an edge does not have in memory is visited there so long after the edit is asked for. */
const coldAfterMs = 50;
const rewindEveryMs = 10;

/** Once more on another connection, where the server has just closed this one as idle: all of it may be repeated. */
const askAgain = async (url: string, options: RequestOptions = {}): Promise<HttpResponse> => {
  try {
    return await sendRequest(url, options);
  } catch (error) {
    if (!hasCode(error, 'ECONNRESET')) throw error;
    return sendRequest(url, options);
  }
};

const visit = (edge: string, code: string): Promise<HttpResponse> => askAgain(`${edge}/${code}`);

const newUrl = (code: string): string => `https://example.com/edited/${code}`;

/** Visits a link until it leads elsewhere; returns when. */
const servedAt = async (edge: string, code: string): Promise<number> => {
  const deadline = performance.now() + patienceMs;
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

const linksOf = async (stack: RunningStack, count: number): Promise<readonly string[]> => {
  const { key } = await issueKey(stack, { plan: 'PRO' });
  const made = Math.ceil(count / linksOfBatch) * linksOfBatch;
  const api = stack.apis[0] ?? '';
  return (await createLinks(api, key, made, (n) => `https://example.com/${n}`)).slice(0, count);
};

/** The copies of some links that lie in Redis. */
const copiesOf = async (
  redis: Redis,
  codes: readonly string[],
): Promise<ReadonlyMap<string, readonly [key: string, text: string]>> => {
  const keys = await redis.keys('*');
  const texts = keys.length > 0 ? await redis.mget(keys) : [];
  const all = keys.map((key, index) => [key, texts[index] ?? ''] as const);
  return new Map(
    codes.flatMap((code) => {
      const copy = all.find(([key]) => key.endsWith(`:${code}`));
      return copy ? [[code, copy]] : [];
    }),
  );
};

/**
 * Edits links of a running stack, a third of them while Kafka is stopped, and a third while Redis gets its copies from
 * before the edit again: each at once, and all of them from an old dump, with which it is started anew. Of every second
 * link, only one of the edges has it in memory.
 */
export const proveEdits = async (proof: EditsProof): Promise<EditsReport> => {
  const { edits, settlingMs, onProgress = () => undefined } = proof;
  const logger = createLogger('silent');
  const dataDir = await temporaryDir();
  const startOurs = (port?: number): Promise<RedisServer> =>
    startRedis({ dataDir, logger, tied: true, dump: true, ...(port !== undefined && { port }) });
  let server = await startOurs();
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
        if (admin === undefined) throw new Error(`Edge ${index} has a listener for operators`);
        const { text } = await sendRequest(`${admin}/metrics`);
        sum += total(parseExposition(text), 'linklog_edge_shared_cache_lookups_total', { result });
      }
      return sum;
    };

    /** Edits a link that these edges have in memory, and measures on all of `on`. */
    const edit = async (
      circumstance: string,
      code: string,
      { warm, on }: { readonly warm: readonly string[]; readonly on: readonly string[] },
    ): Promise<void> => {
      const asked = performance.now();
      const answered = askAgain(`${stack.admin}/admin/links/${code}`, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${stack.adminToken}` },
        body: { url: newUrl(code) },
      });
      const [{ status, text }, ...seen] = await Promise.all([
        answered,
        ...on.map(async (edge) => {
          if (!warm.includes(edge)) await sleep(coldAfterMs);
          return servedAt(edge, code);
        }),
      ]);
      // 503: the wait for the log was too long for a busy machine. The edges have the edit all the same.
      if (![200, 202, 503].includes(status)) throw new Error(`${code}: ${status} ${text}`);
      (times[circumstance] ??= []).push(Math.max(...seen) - asked);
    };

    /** From its edit on, no edge may lead elsewhere any more. */
    const lookAgain = async (what: string, codes: readonly string[]): Promise<void> => {
      for (const code of codes) {
        for (const [index, edge] of edges.entries()) {
          const { status, headers } = await visit(edge, code);
          if (headers.location === newUrl(code)) continue;
          wrong.push(`${what}, edge ${index}, ${code}: ${status} ${headers.location ?? ''}`);
        }
      }
    };

    const warmOf = (index: number): readonly string[] => (index % 2 === 0 ? edges : [first]);

    const warmUp = async (codes: readonly string[]): Promise<void> => {
      for (const [index, code] of codes.entries()) {
        for (const edge of warmOf(index)) await visit(edge, code);
      }
    };

    const editAll = async (circumstance: string, codes: readonly string[]): Promise<void> => {
      await warmUp(codes);
      const atOnce = pLimit(editsAtOnce);
      await Promise.all(
        codes.map((code, index) =>
          atOnce(() => edit(circumstance, code, { warm: warmOf(index), on: edges })),
        ),
      );
      await lookAgain(circumstance, codes);
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

    /** Redis as it was: killed, and started again with that dump. */
    const restore = async (dump: string): Promise<void> => {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await copyFile(`${dump}.old`, dump);
      server = await startOurs(Number(new URL(server.url).port));
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
      const atOnce = pLimit(editsAtOnce);
      try {
        await Promise.all(
          codes.map((code, index) =>
            // Of every second link, the other edge hears, and reads nothing before Redis was restored.
            atOnce(() => edit(circumstance, code, { warm: warmOf(index), on: warmOf(index) })),
          ),
        );
      } finally {
        ended.abort();
        await rewinding;
      }
      await sleep(1_000);
      await restore(dump);
      // The circuit to Redis closes with a look-up that is answered.
      const answered = async (): Promise<number> =>
        (await lookups('miss')) + (await lookups('hit'));
      const before = await answered();
      if (settlingMs > 0) {
        await eventually('edges ask Redis', async () => {
          for (const edge of edges) await visit(edge, 'nobody');
          return (await answered()) > before;
        });
      }
      await lookAgain('an old dump of Redis', codes);
      onProgress(`${codes.length} edits: ${circumstance}`);
    };

    const third = Math.ceil(edits / 3);
    const codes = await linksOf(stack, edits);
    await editAll('all runs', codes.slice(0, third));
    await whileKafkaIsStopped(() => editAll('Kafka stopped', codes.slice(third, 2 * third)));
    await sleep(settlingMs);
    for (let from = 2 * third; from < edits; from += linksOfBatch) {
      await editWithOldCopies(codes.slice(from, from + linksOfBatch));
    }
    await lookAgain('in the end', codes);
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
