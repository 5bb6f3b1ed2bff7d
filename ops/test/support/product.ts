import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { PlanName } from '../../../schemas/plans.js';
import type { Scope } from '../../../schemas/scopes.js';
import { nullOnThrow } from '../../platform/errors.js';
import { publishedAddresses } from '../../app/data-dir.js';
import { postgresAccount } from '../../local/postgres/account.js';
import { layoutOf } from '../../local/postgres/layout.js';
import { postgresPids } from '../../local/postgres/orphans.js';
import { serviceDirs } from '../../local/stack/parts.js';
import { copyClusterTemplate } from './cluster.js';
import { sendRequest } from './http.js';
import { testKafka } from './kafka.js';
import {
  isAlive,
  lastLines,
  launch,
  mainFile,
  readyLine,
  temporaryDir,
  type EndedProcess,
} from './process.js';
import { testRedis } from './redis.js';
import { pidsIn, stackFile } from './stack.js';
import { within } from './waiting.js';

/** Whether `startProduct` starts the stack instead of one process. */
export const onStack = process.env['LINKLOG_TEST_ON'] === 'stack';

const stopWithinMs = 10_000;
/** The default number of databases of Redis. */
const redisDatabases = 16;

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly account: string;
  readonly active: boolean;
  readonly createdAt: string;
}

/** The real product, in another process group. */
export interface Product {
  /** Addresses such as `http://127.0.0.1:40123`; of the first process. */
  readonly api: string;
  readonly edge: string;
  readonly admin: string;
  readonly apis: readonly string[];
  readonly edges: readonly string[];
  /** `null` if DATA_DIR had keys already, or if FIRST_KEY is `none`. */
  readonly firstKey: string | null;
  readonly adminToken: string;
  readonly pid: number;
  readonly dataDir: string;
  /** The folder with the spool folder of each edge. */
  readonly spoolRoot: string;
  /** The operators' listeners of all processes; `admin` is that of the first API. */
  readonly admins: readonly string[];
  /** The ready line. */
  readonly ready: unknown;
  readonly stdout: () => string;
  readonly stderr: () => string;
  createKey(key: {
    readonly plan: PlanName;
    readonly account?: string;
    readonly name?: string;
    readonly scopes?: readonly Scope[];
    readonly expiresIn?: number;
  }): Promise<IssuedKey>;
  /** Resolves when the process has exited. */
  readonly ended: Promise<EndedProcess>;
  /** Resident memory of the largest Node process, in MiB. */
  rssMiB(): Promise<number>;
  /** Sends SIGTERM. @throws if it does not exit with code 0 within 10 s */
  stop(): Promise<EndedProcess>;
  /** Kills (-9) Node and every PostgreSQL process, like a crash of the machine. */
  killTree(): Promise<void>;
  /** Kills running processes, and deletes DATA_DIR if `startProduct` created it. */
  cleanup(): Promise<void>;
}

/** Every PostgreSQL process of a data directory. */
export const postgresOf = async (dataDir: string): Promise<number[]> => {
  const layout = layoutOf(dataDir);
  return postgresPids(layout, await postgresAccount(layout));
};

const kill = (pid: number): void => {
  nullOnThrow(() => process.kill(pid, 'SIGKILL'), 'ESRCH');
};

const killAll = async (dataDir: string): Promise<void> => {
  // Repeated: the postmaster may have forked a child after the first list.
  for (;;) {
    const pids = await postgresOf(dataDir);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
    await sleep(20);
  }
};

const readyOfStack = z.object({ apis: z.array(z.string()), edges: z.array(z.string()) });

/** The current pids of the services. */
const servicePids = (ready: unknown, stdout: string): readonly number[] => {
  const { api, edge, projector } = pidsIn(ready, stdout);
  return [...api, ...edge, ...projector];
};

let prefixes = 0;
const servers = new Map<string, Promise<Record<string, string>>>();

/** Shared servers of a stack; it starts PostgreSQL itself, in DATA_DIR. */
const sharedServers = async (): Promise<Record<string, string>> => {
  const [{ brokers, prefix }, redis] = await Promise.all([testKafka('stack'), testRedis()]);
  prefixes += 1;
  return {
    KAFKA_BROKERS: brokers,
    KAFKA_TOPIC_PREFIX: prefix,
    REDIS_URL: `${redis.url}/${prefixes % redisDatabases}`,
  };
};

/**
 * The environment of another process (a restarted product, another node, a command) with the servers outside of
 * DATA_DIR that the product uses.
 */
export const serversFor = async (
  dataDir: string,
  isStack = onStack,
): Promise<Record<string, string>> => {
  if (!isStack) return {};
  const known = servers.get(dataDir) ?? sharedServers();
  servers.set(dataDir, known);
  return known;
};

const text = (ready: unknown, name: string): string => {
  const value = (ready as Record<string, unknown>)[name];
  if (typeof value !== 'string') throw new Error(`the ready line has no ${name}`);
  return value;
};

/** Creates an API key as an operator. */
export const issueKey = async (
  { admin, adminToken }: Pick<Product, 'admin' | 'adminToken'>,
  { plan, name = `a ${plan} key`, ...more }: Parameters<Product['createKey']>[0],
): Promise<IssuedKey> => {
  const response = await sendRequest(`${admin}/admin/keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminToken}` },
    body: { name, plan, ...more },
  });
  if (response.status !== 201) throw new Error(`no key: ${response.status} ${response.text}`);
  return response.json() as IssuedKey;
};

/** Resident memory, in MiB. */
const rssOf = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
};

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly dataDir?: string;
  /** The main file of another build. */
  readonly program?: string;
  /** A command prefix, such as that of a sandbox: then `pid` is the pid of the command. */
  readonly runner?: readonly string[];
}

/**
 * Starts the product on free ports and waits for its ready line.
 *
 * @throws with the last lines of stderr if it exits instead
 */
export const startProduct = async (
  options: StartOptions = {},
  isStack = onStack,
): Promise<Product> => {
  const dataDir = options.dataDir ?? (await temporaryDir());
  const { program = isStack ? stackFile : mainFile } = options;
  // Another build may have another version of PostgreSQL.
  const isOurs = options.program === undefined;
  if (isOurs && !options.env?.['DATABASE_URL']) await copyClusterTemplate(dataDir);
  const env = { ...(await serversFor(dataDir, isStack)), DATA_DIR: dataDir, ...options.env };
  const running = launch(env, [program], options.runner);
  const { child, ended } = running;

  let ready: unknown;
  const killTree = async (): Promise<void> => {
    // First, because it restarts services.
    child.kill('SIGKILL');
    if (isStack && ready !== undefined) {
      for (const pid of servicePids(ready, running.stdout())) kill(pid);
    }
    await ended;
    await killAll(dataDir);
  };
  const cleanup = async (): Promise<void> => {
    if (isAlive(child)) await killTree();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };

  try {
    ready = await readyLine(running);
  } catch (error) {
    await cleanup();
    throw error;
  }
  const { pid } = child;
  if (pid === undefined) throw new Error('the spawned process has no pid');
  const admin = text(ready, 'admin');
  const adminToken =
    options.env?.['ADMIN_TOKEN'] ??
    (await readFile(path.join(dataDir, 'admin-token'), 'utf8')).trim();

  const { apis, edges } = isStack
    ? readyOfStack.parse(ready)
    : { apis: [text(ready, 'api')], edges: [text(ready, 'edge')] };
  const processDirs = isStack ? serviceDirs(dataDir) : [dataDir];
  const published = await Promise.all(processDirs.map(publishedAddresses));

  return {
    api: apis[0] ?? '',
    edge: edges[0] ?? '',
    admin,
    apis,
    edges,
    firstKey: (ready as { firstKey?: string }).firstKey ?? null,
    adminToken,
    pid,
    dataDir,
    spoolRoot: options.env?.['SPOOL_DIR'] ?? path.join(dataDir, 'spool'),
    admins: published.flatMap((addresses) => addresses?.admin ?? []),
    ready,
    ended,
    stdout: running.stdout,
    stderr: running.stderr,
    createKey: (key) => issueKey({ admin, adminToken }, key),
    async rssMiB() {
      const pids = isStack ? servicePids(ready, running.stdout()) : [pid];
      return Math.max(...(await Promise.all(pids.map(rssOf))));
    },
    async stop() {
      child.kill('SIGTERM');
      const end = await within(stopWithinMs, 'the product did not exit', ended);
      if (end.exitCode !== 0) {
        throw new Error(
          `the product exited with ${end.signal ?? end.exitCode ?? '?'}:\n${lastLines(end.stderr)}`,
        );
      }
      const left = await postgresOf(dataDir);
      if (left.length > 0)
        throw new Error(`the product left PostgreSQL running: ${left.join(', ')}`);
      return end;
    },
    killTree,
    cleanup,
  };
};

/** Starts all services in one process, also on `LINKLOG_TEST_ON=stack`. */
export const startEmbeddedProduct = (options: StartOptions = {}): Promise<Product> =>
  startProduct(options, false);
