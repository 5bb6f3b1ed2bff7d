/** A product whose processes are killed with -9 while clients use it. */
import { rm } from 'node:fs/promises';
import { catalogue, type LinklogEvent } from '../../../schemas/events/catalogue.js';
import { generousPlansFile } from '../support/plans.js';
import { startEmbeddedProduct, issueKey, serversFor, type Product } from '../support/product.js';
import { startLinklogCli, temporaryDir } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';

/** An event of the log, with what identifies it. */
interface LoggedEvent {
  readonly account: string;
  readonly name: string;
  /** Source and ID: the identity of a CloudEvent. */
  readonly identity: string;
}

export interface FeedTarget {
  /** The environment of commands. */
  readonly environment: Readonly<Record<string, string>>;
  /** The address of an API; it may change after a kill. */
  readonly api: () => string;
  /** Creates a key of an account. */
  createKey(account: string): Promise<string>;
  /** Kills the process of projectors with -9, and waits until its successor is ready. */
  kill(): Promise<void>;
  /** Every event of the log once, in any order. */
  readLog(): Promise<readonly LoggedEvent[]>;
  readonly stop: () => Promise<void>;
}

const typeNames = new Map<string, string>(
  Object.values(catalogue).map(({ type, name }) => [type, name]),
);

/** The events of JSON Lines, as `audit replay` writes them. */
const loggedEvents = (lines: string): readonly LoggedEvent[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { account = '', type, source, id } = JSON.parse(line) as LinklogEvent;
      return { account, name: typeNames.get(type) ?? type, identity: `${source} ${id}` };
    });

const replayLog = async (
  env: Readonly<Record<string, string>>,
): Promise<readonly LoggedEvent[]> => {
  const { exitCode, stdout, stderr } = await startLinklogCli(['audit', 'replay'], env).ended;
  if (exitCode !== 0) throw new Error(`audit replay ended with ${exitCode ?? '?'}: ${stderr}`);
  return loggedEvents(stdout);
};

/** All services in one process with PostgreSQL, which is killed too. */
export const startEmbeddedTarget = async (
  more: Readonly<Record<string, string>> = {},
): Promise<FeedTarget> => {
  const dataDir = await temporaryDir();
  const env = { PLANS_FILE: await generousPlansFile(dataDir), ...more };
  let product: Product = await startEmbeddedProduct({ dataDir, env });
  const environment = { DATA_DIR: dataDir };
  return {
    environment,
    api: () => product.api,
    createKey: async (account) => (await product.createKey({ plan: 'PRO', account })).key,
    async kill() {
      await product.killTree();
      product = await startEmbeddedProduct({ dataDir, env });
    },
    readLog: () => replayLog(environment),
    async stop() {
      await product.cleanup();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

/** Two of each service, Kafka, PostgreSQL and Redis. Services are killed one at a time. */
export const startStackTarget = async (
  more: Readonly<Record<string, string>> = {},
): Promise<FeedTarget> => {
  const folder = await temporaryDir();
  const servers = await serversFor(folder, true);
  const stack: RunningStack = await startStackProcess({
    ...servers,
    PLANS_FILE: await generousPlansFile(folder),
    ...more,
  });
  let kills = 0;
  const environment = { ...servers, DATA_DIR: stack.dataDir, DATABASE_URL: stack.postgres };
  return {
    environment,
    api: () => stack.apis[0] ?? '',
    createKey: async (account) => (await issueKey(stack, { plan: 'PRO', account })).key,
    async kill() {
      kills += 1;
      const index = kills % 2;
      const before = stack.restarts('projector', index);
      process.kill(stack.pids.projector[index] ?? 0, 'SIGKILL');
      const isRestarted = (): boolean => stack.restarts('projector', index) > before;
      await eventually('the projectors are restarted', isRestarted, 30_000);
    },
    readLog: () => replayLog(environment),
    async stop() {
      await stack.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
