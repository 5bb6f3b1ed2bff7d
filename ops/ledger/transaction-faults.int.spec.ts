import { expect } from 'chai';
import {
  createShortenHandler,
  type ShortenHandler,
} from '../../command-api/links/create/handler.js';
import { newKey, type TestKey } from '../../command-api/testing/keys.js';
import { shortenCommand } from '../../command-api/testing/links.js';
import { createLogger } from '../platform/logging.js';
import { createPool, OutcomeUnknown, type Pool } from '../platform/postgres/pool.js';
import type { Outbox } from '../event-log/outbox/port.js';
import {
  injectedFaultFunction,
  injectFaults,
  statementFaults,
  type PlannedFault,
} from '../test/support/faulty-pool.js';
import {
  ledgerCommandNames,
  ledgerCommands,
  type LedgerCommandName,
  type LedgerCommands,
} from '../test/support/ledger-commands.js';
import { eventually } from '../test/support/waiting.js';
import { isClean } from '../tools/audit/verify/report.js';
import { verify } from '../tools/audit/verify/verify.js';
import { databaseFixture, ledgerFixture } from '../test/support/fixtures.js';

const logger = createLogger('silent');

/** More than any transaction has. */
const maxStatements = 30;

/** Ways in which the code around the statements fails. */
type CodeFault = 'record throws' | 'its result throws' | 'its callback throws';
const codeFaults: readonly CodeFault[] = [
  'record throws',
  'its result throws',
  'its callback throws',
];

describe('ledger: transaction that fails', function () {
  this.timeout(120_000);

  const database = databaseFixture('faults');
  const node = ledgerFixture(database);
  let pool: Pool;
  let commands: LedgerCommands;
  let codeFault: CodeFault | null = null;
  let seeded: TestKey;
  let shorten: ShortenHandler['shorten'];
  let count = 0;

  const fail = (fault: CodeFault): void => {
    if (codeFault === fault) throw new Error(`injected: ${fault}`);
  };

  before(async () => {
    await database.pool.query(injectedFaultFunction);
    pool = createPool({ url: database.url, name: 'faulty', max: 1, logger });
    const outbox: Outbox = {
      ...node.outbox,
      record(events) {
        fail('record throws');
        const write = node.outbox.record(events);
        return {
          ...write,
          resultOf(results) {
            fail('its result throws');
            return write.resultOf(results);
          },
          afterCommit() {
            fail('its callback throws');
            write.afterCommit?.();
          },
        };
      },
    };
    const key = await newKey(node, 'PRO');
    const rotated = await newKey(node, 'PRO');
    ({ shorten } = createShortenHandler({ ...node, generateCode: () => 'unused' }));
    seeded = key;
    await shorten(shortenCommand(key, [{ code: 'limited', custom: true, maxClicks: 1_000_000 }]));
    commands = ledgerCommands({ pool, outbox, clock: node.clock }, key, rotated, 'limited');
  });

  after(async () => {
    await pool.end();
  });

  /** Work for a command that has none otherwise. */
  const prepare = async (name: LedgerCommandName): Promise<void> => {
    if (name === 'close minutes') {
      await commands['close minutes']();
      await commands['admit a call']();
    }
    if (name !== 'expire links') return;
    // One link is due, also if the command before has failed.
    await commands['expire links']();
    count += 1;
    const due = { code: `due-${count}`, custom: true, expiresIn: -60 };
    await shorten(shortenCommand(seeded, [due]));
  };

  /** Waits until PostgreSQL has rolled back or committed what lost connections had begun. */
  const untilIdle = (): Promise<void> =>
    eventually('no transaction is open', async () => {
      const { rows } = await database.pool.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'linklog faulty' AND state <> 'idle'
           AND datname = current_database()`,
      );
      return rows.length === 0;
    });

  /** All rows of the ledger and the log, and the number of events. */
  const snapshot = async (): Promise<{ readonly rows: string; readonly events: number }> => {
    const { rows: tables } = await database.pool.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname IN ('ledger', 'log') ORDER BY 1`,
    );
    const parts = tables.map(
      ({ name }) =>
        `coalesce((SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM ${name} t), '')`,
    );
    const { rows } = await database.pool.query<{ rows: string; events: number }>(
      `SELECT concat(${parts.join()}) AS rows, (SELECT sum(next_offset)::bigint FROM log.partitions) AS events`,
    );
    const [found] = rows;
    if (!found) throw new Error('SELECT without FROM returned no row');
    return found;
  };

  /**
   * Runs a command, and returns how many events it has written. Where it fails, and its outcome is known, it must have
   * written nothing: `null`.
   */
  const run = async (
    name: LedgerCommandName,
    arm: () => () => void = () => () => undefined,
  ): Promise<number | null> => {
    await prepare(name);
    const before = await snapshot();
    const disarm = arm();
    let failure: unknown;
    try {
      await commands[name]();
    } catch (error) {
      failure = error;
    } finally {
      disarm();
    }
    await untilIdle();
    const after = await snapshot();
    const isKnown = failure !== undefined && !(failure instanceof OutcomeUnknown);
    if (isKnown) expect(after.rows, `after ${String(failure)}`).to.equal(before.rows);
    return after.rows === before.rows ? null : after.events - before.events;
  };

  for (const name of ledgerCommandNames) {
    it(`writes all of a command or nothing, whichever statement fails: ${name}`, async () => {
      const usual = await run(name);
      expect(usual, 'without a fault').not.to.be.null;
      for (const fault of statementFaults) {
        for (let statement = 0; statement < maxStatements; statement += 1) {
          const injected: PlannedFault[] = [];
          const events = await run(name, () => {
            const faults: PlannedFault[] = [{ statement, fault }];
            return injectFaults(
              pool,
              () => faults.shift() ?? null,
              (planned) => injected.push(planned),
            );
          });
          expect(events, `${fault} at statement ${statement}`).to.be.oneOf([null, usual]);
          if (injected.length === 0) break;
        }
      }
    });

    it(`writes all of a command or nothing, whatever throws around its statements: ${name}`, async () => {
      const usual = await run(name);
      for (const fault of codeFaults) {
        const events = await run(name, () => {
          codeFault = fault;
          return () => {
            codeFault = null;
          };
        });
        const isCommitted = fault === 'its callback throws';
        expect(events, fault).to.be.oneOf(isCommitted ? [usual] : [null, usual]);
      }
    });
  }

  it('leaves the ledger as the log says', async () => {
    const verifying = createPool({
      ...{ url: database.url, name: 'verify', max: 20, deadlines: 'patient' as const, logger },
    });
    const found = await verify({ pool: verifying, log: node.log });
    await verifying.end();
    expect(isClean(found), JSON.stringify(found.differences)).to.be.true;
  });
});
