/** Decides a portion of an import: links, quota, events, outcomes and position in one transaction. */
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { lockActiveDomains, type LockedDomain } from '../../ops/ledger/domains.js';
import { readManyLinkStates } from '../../ops/ledger/link-states.js';
import { findTaken, insertLinks, isSubjectTaken } from '../../ops/ledger/links.js';
import { traced } from '../../ops/ledger/traced.js';
import { lockMeters, saveMeters, type LockedMeter } from '../../ops/ledger/meters.js';
import { newId } from '../../ops/platform/new-id.js';
import { lockingTransaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter, type Write } from '../../ops/platform/postgres/statement.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { mayCreate } from '../../schemas/folds/domain.js';
import { operatorsKeyId } from '../../schemas/folds/key-meter.js';
import {
  evolveLedgerLink,
  initialState as initialLedgerLink,
  type LedgerLink,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import type { LinkState } from '../../schemas/folds/link.js';
import type { ImportedRow, RowOutcome } from '../../schemas/http/imports.js';
import { subjectOf } from '../../schemas/link-subject.js';
import { importLinkDecider, type CodeTaken, type ImportLink } from './command.js';
import { suffixed, type CheckedRow, type ReadyRow } from './row-check.js';
import {
  countVisits,
  insertChecked,
  insertCreated,
  lockImport,
  maxListedRows,
  nameOfSource,
  readChecked,
  savePortion,
  type CheckedLink,
  type Counts,
  type CreatedLink,
  type RunningImport,
} from './store.js';

/** Numbers after a code that are tried for `suffix`. */
const maxSuffix = 99;

interface PortionDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  /** The owner of the lease. */
  readonly owner: string;
}

/** The root key that pays for the links of an import. */
export interface PayingKey {
  readonly rootId: string;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
}

/** The state that the transaction of a portion reads under its locks. */
interface Locked {
  readonly now: Date;
  readonly meter: LockedMeter | null;
  readonly domains: ReadonlyMap<string, LockedDomain>;
  readonly taken: ReadonlySet<string>;
  /** The states of taken subjects. */
  readonly states: ReadonlyMap<string, LinkState>;
  /** Destinations of links that a check would create, by subject. */
  readonly checked: ReadonlyMap<string, string>;
  /** Their number by `nameOfSource` of their link. */
  readonly visits: ReadonlyMap<string, number>;
}

/** The subjects that `suffix` may use for a row. */
const candidatesOf = ({ domain, code }: ReadyRow): readonly string[] =>
  Array.from({ length: maxSuffix - 1 }, (_, index) => suffixed(code, index + 2)).flatMap((name) =>
    name === null ? [] : [subjectOf({ domain, code: name })],
  );

/** The subjects that `suffix` may use: for rows whose code is taken, or may be by a row before. */
const suffixesOf = (rows: readonly ReadyRow[], taken: ReadonlySet<string>): readonly string[] => {
  const earlier = new Set<string>();
  const suffixes = new Set<string>();
  for (const row of rows) {
    const subject = subjectOf(row);
    if (taken.has(subject) || earlier.has(subject) || suffixes.has(subject)) {
      for (const candidate of candidatesOf(row)) suffixes.add(candidate);
    }
    earlier.add(subject);
  }
  return [...suffixes];
};

/** A decision on a row, and the code that it got. */
type Decided =
  | { readonly type: 'created'; readonly code: string; readonly events: readonly LinkEvent[] }
  | { readonly type: 'exists'; readonly code: string }
  | { readonly type: 'quota' | 'domainInactive' }
  | CodeTaken;

const takenMessage = ({ isDeleted }: CodeTaken): string =>
  isDeleted ? 'The code belongs to a deleted link.' : 'The code belongs to another link.';

const creates = ({ outcome }: ImportedRow): boolean =>
  outcome === 'created' || outcome === 'disabled';

const countOutcomes = (rows: readonly ImportedRow[]): Counts => {
  const created = rows.filter(creates).length;
  const existing = rows.filter(({ outcome }) => outcome === 'exists').length;
  const conflicts = rows.filter(({ outcome }) => outcome === 'conflict').length;
  return { created, existing, failed: rows.length - created - existing, conflicts };
};

const outcomeOf = (row: ReadyRow, decided: Decided): ImportedRow => {
  const outcome = (name: RowOutcome, code: string, message?: string): ImportedRow => {
    const messages = [...(message === undefined ? [] : [message]), ...row.messages];
    const text = messages.length === 0 ? null : messages.join(' ');
    return { row: row.row, code, url: row.link.url, outcome: name, message: text };
  };
  switch (decided.type) {
    case 'created': {
      const { code } = decided;
      const renamed = code === row.code ? undefined : `The code ${row.code} was taken.`;
      return outcome(row.link.disabled ? 'disabled' : 'created', code, renamed);
    }
    case 'exists':
      return { ...outcome('exists', decided.code), message: null };
    case 'quota':
      return outcome('quota', row.code, 'The links of the month are used up.');
    case 'domainInactive':
      return outcome(
        'invalid',
        row.code,
        `The domain ${row.domain} is not active for the account.`,
      );
    case 'codeTaken':
      return outcome('conflict', row.code, takenMessage(decided));
    default: {
      const unknown: never = decided;
      return unknown;
    }
  }
};

/** Decides the rows of a portion one after the other. */
const openPortion = (running: RunningImport, key: PayingKey | null, locked: Locked) => {
  const { account, actor, options, id: importId, format, requestId, traceparent } = running;
  const { now, meter, domains, taken, checked, visits } = locked;
  const states = new Map(locked.states);
  const ledgerLinks = new Map<string, LedgerLink>();
  const created: CreatedLink[] = [];
  const checkedLinks: CheckedLink[] = [];
  const isCheck = running.phase === 'check';
  /** A check does not spend links: those of its earlier portions are counted here. */
  let spent = isCheck ? running.created : 0;

  const commandOf = (row: ReadyRow, subject: string): ImportLink => {
    const { rootId: keyId = operatorsKeyId } = key ?? {};
    const link = { ...row.link, visits: visits.get(nameOfSource(row.source)) ?? 0 };
    return {
      ...{ type: 'ImportLink', subject },
      data: { ...link, keyId, account, importId, source: format },
      metadata: { actor, requestId, traceparent: traceparent ?? undefined, now, id: newId() },
    };
  };

  const create = (row: ReadyRow, code: string, events: readonly LinkEvent[]): Decided => {
    const limit = key?.linkLimit ?? null;
    if (meter && limit !== null && meter.links + spent >= limit) return { type: 'quota' };
    const subject = subjectOf({ domain: row.domain, code });
    const { initialState, evolve } = importLinkDecider;
    states.set(subject, events.reduce(evolve, initialState));
    if (isCheck) {
      spent += 1;
      checkedLinks.push({ subject, url: row.link.url });
      return { type: 'created', code, events: [] };
    }
    const link = events.reduce<LedgerLinkState>(evolveLedgerLink, initialLedgerLink);
    if (link.status === 'none') throw new Error(`evolve() returned no link for ${subject}`);
    ledgerLinks.set(subject, link);
    created.push({ ...row.source, subject });
    if (meter) {
      meter.links += 1;
      meter.allLinks += 1;
    }
    return { type: 'created', code, events };
  };

  const decideCode = (row: ReadyRow, code: string): Decided => {
    const subject = subjectOf({ domain: row.domain, code });
    const checkedUrl = checked.get(subject);
    if (checkedUrl !== undefined) {
      return checkedUrl === row.link.url
        ? { type: 'exists', code }
        : { type: 'codeTaken', isDeleted: false };
    }
    const { initialState, decide } = importLinkDecider;
    const state = states.get(subject);
    // Neither the projection nor the outbox has the link yet.
    if (!state && taken.has(subject)) return { type: 'codeTaken', isDeleted: false };
    const decision = decide(commandOf(row, subject), state ?? initialState);
    if (decision.type === 'unchanged') return { type: 'exists', code };
    if (decision.type === 'refused') return decision.refusal;
    return create(row, code, decision.events);
  };

  return {
    ledgerLinks,
    created,
    checkedLinks,
    decide(row: ReadyRow): Decided {
      if (!mayCreate(domains, account, subjectOf(row))) return { type: 'domainInactive' };
      let decided = decideCode(row, row.code);
      if (options.onConflict !== 'suffix') return decided;
      for (let number = 2; decided.type === 'codeTaken' && number <= maxSuffix; number += 1) {
        const code = suffixed(row.code, number);
        if (code === null) break;
        decided = decideCode(row, code);
      }
      return decided;
    },
  };
};

/** A check of an import that is no dry run shows only the rows that keep it from creating links. */
const shownOf = (
  { phase, options }: RunningImport,
  outcomes: readonly ImportedRow[],
): readonly ImportedRow[] =>
  phase === 'check' && !options.dryRun ? outcomes.filter((row) => !creates(row)) : outcomes;

/** The rows that are stored. The rest of those that created nothing is only counted. */
const listedOf = (
  { phase, created, existing, failed }: RunningImport,
  shown: readonly ImportedRow[],
): readonly ImportedRow[] => {
  const isCheck = phase === 'check';
  let room = maxListedRows - existing - failed - (isCheck ? created : 0);
  return shown.filter((row) => {
    if (!isCheck && creates(row)) return true;
    room -= 1;
    return room >= 0;
  });
};

const decideLocked = (
  { outbox }: PortionDeps,
  running: RunningImport,
  key: PayingKey | null,
  rows: readonly CheckedRow[],
  locked: Locked,
): Write<void> => {
  const portion = openPortion(running, key, locked);
  const events: LinkEvent[] = [];
  const outcomes = rows.map((row): ImportedRow => {
    if (row.type === 'refused') return row.outcome;
    const decided = portion.decide(row);
    if (decided.type === 'created') events.push(...decided.events);
    return outcomeOf(row, decided);
  });
  const { phase, options, id } = running;
  const isCheck = phase === 'check';
  const shown = shownOf(running, outcomes);
  const text = listedOf(running, shown)
    .map((outcome) => `${JSON.stringify(outcome)}\n`)
    .join('');
  const keepsRecords = isCheck && !options.dryRun;
  const statements = [
    ...insertLinks([...portion.ledgerLinks.values()]),
    ...saveMeters(locked.meter && portion.created.length > 0 ? [locked.meter] : []),
    ...insertChecked(id, portion.checkedLinks),
    ...insertCreated(id, options.visits ? portion.created : []),
    ...savePortion(running, text, countOutcomes(shown), keepsRecords),
  ];
  return mapResult(writeAfter(statements, outbox.record(events)), () => undefined);
};

/**
 * Decides the next portion of a leased import. Lock order: import, meters, domains, links, partitions of the log.
 *
 * @throws ImportLeaseLost
 */
export const decidePortion = async (
  deps: PortionDeps,
  running: RunningImport,
  key: PayingKey | null,
  rows: readonly CheckedRow[],
): Promise<void> => {
  const { pool, outbox, clock, owner } = deps;
  const ready = rows.filter((row) => row.type === 'ready');
  const { id, options, phase } = running;

  const lockSpending = async (tx: Client): Promise<Pick<Locked, 'now' | 'meter'>> => {
    const { meters, now } = await lockMeters(tx, key ? [key.rootId] : [], clock);
    if (!key) return { now, meter: null };
    const meter = meters.get(key.rootId);
    if (!meter) throw new Error(`The key ${key.rootId} has no meter`);
    return { now, meter };
  };

  /** The states of the rows' subjects, and of their other codes if they may need them. */
  const readStates = async (tx: Client): Promise<Pick<Locked, 'taken' | 'states' | 'checked'>> => {
    const subjects = ready.map((row) => subjectOf(row));
    const findOf = (codes: readonly string[]) =>
      Promise.all([
        findTaken(tx, codes),
        phase === 'check' && codes.length > 0
          ? readChecked(tx, id, codes)
          : new Map<string, string>(),
      ]);
    const [first, known] = await findOf(subjects);
    const others =
      options.onConflict === 'suffix'
        ? suffixesOf(ready, new Set([...first, ...known.keys()]))
        : [];
    const [otherTaken, otherChecked] = await findOf(others);
    const taken = new Set([...first, ...otherTaken]);
    const states = taken.size === 0 ? null : await readManyLinkStates(tx, outbox, [...taken]);
    return {
      taken,
      states: new Map(Array.from(states ?? [], ([subject, { state }]) => [subject, state])),
      checked: new Map([...known, ...otherChecked]),
    };
  };

  const decide = (): Promise<void> =>
    traced(pool, [{ traceparent: running.traceparent ?? undefined }], () =>
      lockingTransaction(
        pool,
        (tx) => {
          const domains = [...new Set(ready.flatMap(({ domain }) => domain ?? []))];
          const sources = ready.map(({ source }) => source);
          return Promise.all([
            lockImport(tx, running, owner),
            lockSpending(tx),
            lockActiveDomains(tx, domains),
            readStates(tx),
            options.visits ? countVisits(tx, id, sources) : new Map<string, number>(),
          ]);
        },
        ([, spending, domains, states, visits]) =>
          decideLocked(deps, running, key, rows, { ...spending, domains, ...states, visits }),
      ),
    );

  for (;;) {
    try {
      await decide();
      return;
    } catch (error) {
      // Another transaction has created one of the links. The next attempt finds it.
      if (!isSubjectTaken(error)) throw error;
    }
  }
};
