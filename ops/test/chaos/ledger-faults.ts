import {
  createShortenHandler,
  type ShortenResult,
} from '../../../command-api/links/create/handler.js';
import type { Admitted } from '../../../command-api/admission/admission.js';
import { newKey } from '../../../command-api/testing/keys.js';
import { shortenCommand } from '../../../command-api/testing/links.js';
import { defaultPlanTable, type PlanTable } from '../../../schemas/plans.js';
import { createLogger } from '../../platform/logging.js';
import type { Outbox } from '../../event-log/outbox/port.js';
import { createPool, OutcomeUnknown, type Pool } from '../../platform/postgres/pool.js';
import { isClean } from '../../tools/audit/verify/report.js';
import { verify } from '../../tools/audit/verify/verify.js';
import { stopTestServer, testDatabase, type TestDatabase } from '../support/database.js';
import {
  InjectedFault,
  injectedFaultFunction,
  injectFaults,
  statementFaults,
  type PlannedFault,
  type StatementFault,
} from '../support/faulty-pool.js';
import {
  ledgerCommandNames,
  ledgerCommands,
  type LedgerCommandName,
  type LedgerCommands,
} from '../support/ledger-commands.js';
import { testNode, type TestNode } from '../support/node.js';
import { seededRandom, type Random } from '../support/random.js';

const logger = createLogger('silent');

/** Nodes, each with handlers and a pool of its own, and the commands that each has in progress. */
const nodeCount = 4;
const commandsAtOnce = 16;
const connections = 6;
/** How often the ledger is compared with the log during a run. */
const comparisons = 4;

/**
 * Of 1,000 transactions, how many have a fault planned, and of 1,000 faults, how many may be slow: they conflict, or
 * cost the connection. A new connection authenticates, and parses and plans every statement again.
 */
const faultyOf1000 = 900;
const statementsAtMost = 9;
const quickFaults: readonly StatementFault[] = ['refused', 'rejected'];
const slowOf1000 = 30;
/** Of 1,000 recordings, how many fail in each of three ways. */
const recordingFaultsOf1000 = 20;

const plans: PlanTable = {
  ...defaultPlanTable,
  plans: {
    ...defaultPlanTable.plans,
    PRO: {
      ...defaultPlanTable.plans.PRO,
      requestsPerMinute: 100_000_000,
      monthlyCalls: null,
      monthlyLinks: null,
      monthlyQrCodes: null,
    },
  },
};

/** How commands of a kind ended. */
interface Ends {
  acknowledged: number;
  failed: number;
  unknown: number;
}

export interface LedgerFaults {
  readonly faults: number;
  readonly ends: Readonly<Record<LedgerCommandName, Ends>>;
  /** What is not as it must be; empty where all is well. */
  readonly broken: readonly string[];
}

/** A node whose transactions fail at random. */
const faultyNode = (
  { outbox, clock }: TestNode,
  pool: Pool,
  random: Random,
  injected: () => void,
): Pick<TestNode, 'pool' | 'outbox' | 'clock'> => {
  injectFaults(
    pool,
    (): PlannedFault | null => {
      if (random.below(1_000) >= faultyOf1000) return null;
      const isSlow = random.below(1_000) < slowOf1000;
      const kinds = isSlow ? statementFaults : quickFaults;
      const fault = kinds[random.below(kinds.length)];
      if (!fault) return null;
      return { statement: random.below(statementsAtMost), fault, sparesCommit: !isSlow };
    },
    injected,
  );
  const failAtRandom = (): void => {
    if (random.below(1_000) >= recordingFaultsOf1000) return;
    injected();
    throw new InjectedFault('injected into the outbox');
  };
  const faulty: Outbox = {
    ...outbox,
    record(events) {
      failAtRandom();
      const write = outbox.record(events);
      return {
        ...write,
        resultOf(results) {
          failAtRandom();
          return write.resultOf(results);
        },
        afterCommit() {
          failAtRandom();
          write.afterCommit?.();
        },
      };
    },
  };
  return { pool, outbox: faulty, clock };
};

/** The codes of the links that a command has created, by what its handler returned. */
const codesOf = (result: unknown): readonly string[] => {
  const { type, outcomes } = (result ?? {}) as Partial<
    Extract<ShortenResult, { readonly type: 'decided' }>
  >;
  if (type !== 'decided' || !outcomes) return [];
  return outcomes.flatMap((outcome) => (outcome.type === 'created' ? [outcome.event.subject] : []));
};

/** Whether a command was refused that has no reason to be. */
const isRefused = (name: LedgerCommandName, result: unknown): boolean => {
  if (name === 'admit a call' || name === 'admit a call of the console') {
    return (result as Admitted).admission.type !== 'admitted';
  }
  if (name === 'take a click') return result !== 'taken';
  return name === 'spend a QR code' && result !== 'spent';
};

/** The ledger's rows that are not what the log gives. */
const compareWithLog = async (
  database: TestDatabase,
  node: TestNode,
): Promise<readonly string[]> => {
  const pool = createPool({
    ...{ url: database.url, name: 'verify', max: 20, deadlines: 'patient' as const, logger },
  });
  try {
    const found = await verify({ pool, log: node.log });
    if (isClean(found)) return [];
    return [...found.differences, ...found.gaps].map(
      (fault) => `audit verify: ${JSON.stringify(fault)}`,
    );
  } finally {
    await pool.end();
  }
};

/**
 * Injects faults into transactions of the ledger, with every kind of command in progress on several nodes, until there
 * were so many. Then the ledger must be what the log says, every acknowledged command must have taken effect, and every
 * failed one must not, unless its outcome was unknown.
 */
export const ledgerFaults = async (options: {
  readonly faults: number;
  readonly seed: number;
  readonly onProgress?: (line: string) => void;
}): Promise<LedgerFaults> => {
  const { faults, seed, onProgress = () => undefined } = options;
  const random = seededRandom(seed);
  const database = await testDatabase('chaos');
  await database.pool.query(injectedFaultFunction);
  const node = await testNode(database);
  const keys = await Promise.all(Array.from({ length: nodeCount }, () => newKey(node, 'PRO')));
  const rotated = await newKey(node, 'PRO');
  const { shorten } = createShortenHandler({ ...node, generateCode: () => 'unused' });
  const limited = keys.map((_, index) => `limited-${index}`);
  const blockable = keys.map((_, index) => `blockable-${index}`);
  const seeded = [...limited, ...blockable];
  const links = seeded.map((code) => ({ code, custom: true, maxClicks: 1_000_000_000 }));
  await shorten(shortenCommand(rotated, links));
  const oneOf = (all: readonly string[]) => (): string => all[random.below(all.length)] ?? '';

  let injected = 0;
  const pools = keys.map((_, index) =>
    createPool({
      ...{ url: database.url, name: `faulty ${index}`, max: connections, logger },
      deadlines: 'request',
    }),
  );
  const commands: readonly LedgerCommands[] = pools.map((pool, index) => {
    const key = keys[index];
    if (!key) throw new Error(`node ${index} has no key`);
    const faulty = faultyNode(node, pool, random, () => (injected += 1));
    return ledgerCommands(faulty, {
      ...{ key, rotated, table: plans },
      ...{ link: oneOf(limited), blocked: oneOf(blockable) },
    });
  });

  const ends = Object.fromEntries(
    ledgerCommandNames.map((name) => [name, { acknowledged: 0, failed: 0, unknown: 0 }]),
  ) as Record<LedgerCommandName, Ends>;
  const codes = new Set(seeded);
  const broken: string[] = [];

  const runOne = async (all: LedgerCommands): Promise<void> => {
    const name = ledgerCommandNames[random.below(ledgerCommandNames.length)] ?? 'admit a call';
    try {
      const result = await all[name]();
      if (isRefused(name, result)) broken.push(`${name}: ${JSON.stringify(result)}`);
      for (const code of codesOf(result)) codes.add(code);
      ends[name].acknowledged += 1;
    } catch (error) {
      ends[name][error instanceof OutcomeUnknown ? 'unknown' : 'failed'] += 1;
    }
  };

  /** Acknowledged effects must be there; others may be there where the outcome was unknown. */
  const requireBetween = (
    what: string,
    found: number,
    least: readonly LedgerCommandName[],
    most: readonly LedgerCommandName[],
  ): void => {
    const sum = (names: readonly LedgerCommandName[], end: keyof Ends): number =>
      names.reduce((total, name) => total + ends[name][end], 0);
    const low = sum(least, 'acknowledged');
    const high = sum(most, 'acknowledged') + sum(most, 'unknown');
    if (found < low || found > high) {
      broken.push(`${what}: ${found} in the ledger, where ${low} to ${high} are acknowledged`);
    }
  };

  const creating: readonly LedgerCommandName[] = [
    'create a link',
    'create a link with an alias',
    'create a link with an idempotency key',
    'admit a call and create its link',
  ];
  const calling: readonly LedgerCommandName[] = [
    'admit a call',
    'admit a call and create its link',
  ];

  const checkCounts = async (): Promise<void> => {
    const { rows: links } = await node.pool.query<{ code: string }>(
      'SELECT code FROM ledger.links',
    );
    const known = new Set(links.map(({ code }) => code));
    const lost = [...codes].filter((code) => !known.has(code));
    if (lost.length > 0) broken.push(`acknowledged links that are lost: ${lost.join(', ')}`);
    const { rows } = await node.pool.query<Record<'clicks' | 'calls' | 'qrCodes', number>>(
      `SELECT (SELECT sum(clicks)::bigint FROM ledger.links) AS clicks,
              sum(month_calls)::bigint AS calls, sum(month_qr_codes)::bigint AS "qrCodes"
       FROM ledger.key_meters`,
    );
    const [sums] = rows;
    if (!sums) throw new Error('SELECT sum() returned no row');
    requireBetween('links', links.length - seeded.length, creating, creating);
    requireBetween('clicks', sums.clicks, ['take a click'], ['take a click']);
    requireBetween('QR codes', sums.qrCodes, ['spend a QR code'], ['spend a QR code']);
    requireBetween('calls', sums.calls, calling, [...calling, 'admit a call of the console']);
  };

  try {
    for (let round = 1; round <= comparisons && broken.length === 0; round += 1) {
      const until = (faults * round) / comparisons;
      const work = async (all: LedgerCommands): Promise<void> => {
        while (injected < until && broken.length === 0) await runOne(all);
      };
      await Promise.all(
        commands.flatMap((all) => Array.from({ length: commandsAtOnce }, () => work(all))),
      );
      onProgress(`${injected} faults; comparing ledger and log`);
      broken.push(...(await compareWithLog(database, node)));
      await checkCounts();
    }
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
    await node.close();
    await database.drop();
    await stopTestServer();
  }
  return { faults: injected, ends, broken };
};
