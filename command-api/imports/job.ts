/** The background work of imports: each call of `decideNext` takes the next portion of one running import. */
import { type Destinations } from '../../schemas/http/link-fields.js';
import type { EventLog } from '../../ops/event-log/port.js';
import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { findActiveDomains, type ActiveDomains } from '../../ops/ledger/active-domains.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { readPlatform } from '../../ops/ledger/platform.js';
import { EventLoopShare } from '../../ops/platform/concurrency/periodic.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { PlanTable } from '../../schemas/plans.js';
import { linkOfSubject, subjectOf } from '../../schemas/link-subject.js';
import { urlsOf } from '../../schemas/link-options.js';
import { findLiveRoot } from '../admission/live-keys.js';
import { createFindForbidden } from '../aliases/forbidden-aliases.js';
import { checkGroups, type SafetyCheck } from '../safety/safety-check.js';
import { appendVisits } from './imported-visit.js';
import { decidePortion, type PayingKey } from './portion.js';
import {
  createRowCheck,
  domainOf,
  refusedRow,
  type CheckedRow,
  type DomainChoice,
  type ReadyRow,
} from './row-check.js';
import {
  endImport,
  ImportLeaseLost,
  leaseImport,
  readPortion,
  readVisits,
  returnImport,
  saveVisits,
  startPhase,
  type LinkRecord,
  type RunningImport,
} from './store.js';

/** Visits that are appended together. */
const visitsTogether = 2_000;

/**
 * The longest time from the start of an import to its last visit (ms). Readers recognise repeats of visits for 30 days
 * (projectors/runtime/high-water-marks.ts).
 */
const maxVisitsMs = 25 * 86_400_000;

/** When an import is tried again that cannot continue now (ms). */
const retryMs = 5_000;

interface ImportJobDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly log: Pick<EventLog, 'append'>;
  readonly delivery: OutboxDelivery;
  readonly clock: LedgerClock;
  readonly plans: PlanTable;
  readonly activeDomains: ActiveDomains;
  readonly safety: SafetyCheck;
  readonly defaultDomain: string | null;
  readonly destinations: Destinations;
  readonly logger: Logger;
}

const messages = {
  reserved: 'The code is reserved.',
  unsafe: 'The destination is not safe.',
  interrupted: 'The import was interrupted for too long to continue with its visits.',
  keyRevoked: 'The key that started the import is no longer active.',
};

export const createImportJob = (deps: ImportJobDeps) => {
  const { pool, log, delivery, plans, safety, logger } = deps;
  const owner = newId();
  const checkRow = createRowCheck(deps);
  const findForbidden = createFindForbidden(pool);
  const portionDeps = { pool, outbox: deps.outbox, clock: deps.clock, owner };

  /** The codes of rows, as subjects, that the account may not use. Operators may use reserved ones. */
  const findForbiddenCodes = async (
    { keyId, account }: RunningImport,
    rows: readonly ReadyRow[],
  ): Promise<ReadonlySet<string>> => {
    const subjects = rows.flatMap((row) => [subjectOf(row), ...row.codes]);
    const onDefault = subjects.filter((subject) => linkOfSubject(subject).domain === null);
    return keyId === null ? new Set() : findForbidden(onDefault, account);
  };

  /** Checks the records of a portion; `null` if a service has no verdict now. */
  const checkRows = async (
    running: RunningImport,
    records: readonly LinkRecord[],
  ): Promise<readonly CheckedRow[] | null> => {
    const { account, options, format } = running;
    const links = records.flatMap((record) => (record.type === 'link' ? [record.link] : []));
    const ofCodes = links.flatMap(({ codes }) => codes.map((code) => linkOfSubject(code).domain));
    const ofLinks = options.domain === null ? links.map(domainOf) : [options.domain];
    const names = new Set([...ofLinks, ...ofCodes].filter((name) => name !== null));
    const active = await findActiveDomains(deps, account, [...names]);
    const domains: DomainChoice = {
      domain: options.domain,
      isActive: (name) => active.has(name),
      ignoresCase: deps.activeDomains.ignoresCase,
      isStrict: format === 'linklog',
    };
    const rows: CheckedRow[] = [];
    const share = new EventLoopShare();
    for (const record of records) {
      rows.push(checkRow(record, domains));
      if (share.isUsedUp) await share.renew();
    }
    const ready = rows.filter((row) => row.type === 'ready');
    const [forbidden, verdicts] = await Promise.all([
      findForbiddenCodes(running, ready),
      checkGroups(
        safety,
        ready.map(({ link }) => urlsOf(link)),
      ),
    ]);
    if (verdicts.includes('unknown')) return null;
    const verdictOf = new Map(ready.map((row, index) => [row, verdicts[index]]));
    return rows.map((row) => {
      if (row.type !== 'ready') return row;
      const known = { code: row.code, url: row.link.url };
      if (forbidden.has(subjectOf(row))) {
        return refusedRow(row.row, known, 'reserved', [messages.reserved]);
      }
      const reserved = row.codes.filter((code) => forbidden.has(code));
      const codes = row.codes.filter((code) => !forbidden.has(code));
      const left = reserved.map((code) => `The further code ${code} is reserved.`);
      if (verdictOf.get(row) === 'safe') {
        return { ...row, codes, messages: [...row.messages, ...left] };
      }
      return refusedRow(row.row, known, 'unsafe', [messages.unsafe]);
    });
  };

  const payingKey = async (keyId: string): Promise<PayingKey | null> => {
    const root = await findLiveRoot(pool, keyId);
    if (!root) return null;
    return { rootId: root.rootId, linkLimit: plans.plans[root.plan].monthlyLinks };
  };

  const end = async (
    { id, account }: RunningImport,
    status: 'done' | 'stopped' | 'failed',
    error: string | null = null,
  ): Promise<void> => {
    await endImport(pool, id, status, error);
    logger.info({ import: id, account, status, ...(error !== null && { error }) }, 'import ended');
  };

  /** The end of a phase: begins the next one, or ends the import. */
  const endPhase = async (running: RunningImport): Promise<void> => {
    const { phase, options, conflicts } = running;
    if (phase === 'check') {
      if (options.onConflict === 'fail' && conflicts > 0) {
        const rows = conflicts === 1 ? '1 row conflicts' : `${conflicts} rows conflict`;
        await end(running, 'failed', `${rows} with existing links. No link was created.`);
      } else if (options.dryRun) await end(running, 'done');
      else await startPhase(pool, running, 'links', owner);
    } else if (phase === 'links' && options.visits) {
      await startPhase(pool, running, 'visits', owner);
    } else await end(running, 'done');
  };

  /** Returns whether the portion was decided. */
  const decideLinks = async (running: RunningImport): Promise<boolean> => {
    const { id, keyId, position } = running;
    const key = keyId === null ? null : await payingKey(keyId);
    if (keyId !== null && key === null) {
      await end(running, 'stopped', messages.keyRevoked);
      return true;
    }
    const rows = await checkRows(running, await readPortion(pool, id, position));
    if (!rows) return false;
    await decidePortion(portionDeps, running, key, rows);
    return true;
  };

  const importVisits = async (running: RunningImport): Promise<void> => {
    if (running.ageMs > maxVisitsMs) {
      await end(running, 'failed', messages.interrupted);
      return;
    }
    const visits = await readVisits(pool, running, visitsTogether);
    const last = visits.at(-1);
    if (!last) {
      await endPhase(running);
      return;
    }
    const { id: importId, account } = running;
    const appended = visits
      .flatMap(({ subject, visit }) => (subject === null ? [] : [{ subject, visit }]))
      // Contiguous, because readers report the missing sequences of a source.
      .map((visit, index) => ({
        ...visit,
        account,
        importId,
        sequence: running.visits + index + 1,
      }));
    // Repeated after a crash: readers drop repeats by the sequence.
    await appendVisits(log, appended, deps.destinations.isOwnHost);
    await saveVisits(pool, running, owner, last.number, appended.length);
  };

  /** Whether the log and the platform accept links. */
  const isOpen = async (): Promise<boolean> => {
    const { maintenance, features } = await readPlatform(pool);
    return !maintenance && features.shortening && (await delivery.stalled()).areNone;
  };

  const decide = async (running: RunningImport): Promise<void> => {
    const { id, phase, portions, position } = running;
    if (!(await isOpen())) await returnImport(pool, id, owner, retryMs);
    else if (phase === 'visits') await importVisits(running);
    else if (position === portions) await endPhase(running);
    else if (!(await decideLinks(running))) await returnImport(pool, id, owner, retryMs);
  };

  return {
    /** Decides the next portion of an import. Returns 1, or 0 if no import is running. */
    async decideNext(): Promise<number> {
      const running = await leaseImport(pool, owner);
      if (!running) return 0;
      try {
        await decide(running);
      } catch (error) {
        if (error instanceof ImportLeaseLost) return 1;
        await returnImport(pool, running.id, owner, retryMs);
        throw error;
      }
      return 1;
    },
  };
};
