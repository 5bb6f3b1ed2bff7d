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
import { endShared } from '../support/at-end.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
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

/** Each node has handlers and a pool. */
const nodeCount = 4;
/** Concurrent commands of a node. */
const commandsOfNode = 16;
const connections = 6;
/** Comparisons of ledger and log during a run. */
const comparisons = 4;

/**
 * Faults in 1,000 transactions, and slow faults (a conflict or a lost connection) in 1,000 faults. A new connection
 * authenticates, and parses and plans every statement again.
 */
const faultyOf1000 = 900;
const statementsAtMost = 9;
const quickFaults: readonly StatementFault[] = ['refused', 'rejected'];
const slowOf1000 = 30;
/** Faults of each of three kinds in 1,000 calls of the outbox. */
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

/** The number of commands by outcome. */
interface Outcomes {
  acknowledged: number;
  failed: number;
  unknown: number;
}

export interface LedgerFaults {
  readonly faults: number;
  readonly outcomes: Readonly<Record<LedgerCommandName, Outcomes>>;
  /** Descriptions of violated invariants. */
  readonly broken: readonly string[];
}

/** A node with random failures of its transactions. */
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

/** The codes of the links in the result of a handler. */
const createdCodes = (result: unknown): readonly string[] => {
  const { type, outcomes } = (result ?? {}) as Partial<
    Extract<ShortenResult, { readonly type: 'decided' }>
  >;
  if (type !== 'decided' || !outcomes) return [];
  return outcomes.flatMap((outcome) => (outcome.type === 'created' ? [outcome.event.subject] : []));
};

/** Whether a command was refused without a reason. */
const isRefused = (name: LedgerCommandName, result: unknown): boolean => {
  if (name === 'admit a call' || name === 'admit a call of the console') {
    return (result as Admitted).admission.type !== 'admitted';
  }
  if (name === 'take a click') return result !== 'taken';
  return name === 'spend a QR code' && result !== 'spent';
};

/** Rows of the ledger that differ from the fold of the log. */
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
 * Injects this number of faults into transactions of the ledger, with every kind of command on several nodes. Then the
 * ledger must equal the fold of the log, every acknowledged command must be in effect, and no failed command, unless its
 * outcome was unknown.
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
  const pick = (codes: readonly string[]) => (): string => codes[random.below(codes.length)] ?? '';

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
      ...{ link: pick(limited), blocked: pick(blockable) },
    });
  });

  const outcomes = Object.fromEntries(
    ledgerCommandNames.map((name) => [name, { acknowledged: 0, failed: 0, unknown: 0 }]),
  ) as Record<LedgerCommandName, Outcomes>;
  const codes = new Set(seeded);
  const broken: string[] = [];

  const runRandom = async (nodeCommands: LedgerCommands): Promise<void> => {
    const name = ledgerCommandNames[random.below(ledgerCommandNames.length)] ?? 'admit a call';
    try {
      const result = await nodeCommands[name]();
      if (isRefused(name, result)) broken.push(`${name}: ${JSON.stringify(result)}`);
      for (const code of createdCodes(result)) codes.add(code);
      outcomes[name].acknowledged += 1;
    } catch (error) {
      outcomes[name][error instanceof OutcomeUnknown ? 'unknown' : 'failed'] += 1;
    }
  };

  /** Acknowledged effects must exist; effects with an unknown outcome may exist. */
  const requireBetween = (
    what: string,
    found: number,
    least: readonly LedgerCommandName[],
    most: readonly LedgerCommandName[],
  ): void => {
    const sum = (names: readonly LedgerCommandName[], end: keyof Outcomes): number =>
      names.reduce((total, name) => total + outcomes[name][end], 0);
    const low = sum(least, 'acknowledged');
    const high = sum(most, 'acknowledged') + sum(most, 'unknown');
    if (found < low || found > high) {
      broken.push(`${what}: ${found} in the ledger, expected ${low} to ${high}`);
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
    const { rows: links } = await node.pool.query<{ subject: string }>(
      'SELECT subject FROM ledger.links',
    );
    const known = new Set(links.map(({ subject }) => subject));
    const lost = [...codes].filter((code) => !known.has(code));
    if (lost.length > 0) broken.push(`lost acknowledged links: ${lost.join(', ')}`);
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
      const work = async (nodeCommands: LedgerCommands): Promise<void> => {
        while (injected < until && broken.length === 0) await runRandom(nodeCommands);
      };
      await Promise.all(
        commands.flatMap((nodeCommands) =>
          Array.from({ length: commandsOfNode }, () => work(nodeCommands)),
        ),
      );
      onProgress(`${injected} faults; comparing ledger and log`);
      broken.push(...(await compareWithLog(database, node)));
      await checkCounts();
    }
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
    await node.close();
    await database.drop();
    await endShared();
  }
  return { faults: injected, outcomes, broken };
};
