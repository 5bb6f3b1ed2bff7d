/** Decides a portion of an import: links, quota, events, outcomes and position in one transaction. */
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { saveCodes } from '../../ops/ledger/codes.js';
import { lockActiveDomains, type LockedDomain } from '../../ops/ledger/domains.js';
import { readManyLinkStates } from '../../ops/ledger/link-states.js';
import { findTaken, insertLinks, isSubjectTaken } from '../../ops/ledger/links.js';
import { traced } from '../../ops/ledger/traced.js';
import { lockMeters, saveMeters, type LockedMeter } from '../../ops/ledger/meters.js';
import { newId } from '../../ops/platform/new-id.js';
import { lockingTransaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter, type Write } from '../../ops/platform/postgres/statement.js';
import { nextEvent } from '../../schemas/decision.js';
import { isCodeEvent, type EventNamed, type LinkEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
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
import { linkOfSubject, subjectOf } from '../../schemas/link-subject.js';
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

/** The domains of the codes of a row. */
const domainsOf = ({ domain, codes }: ReadyRow): readonly string[] =>
  [domain, ...codes.map((code) => linkOfSubject(code).domain)].filter((name) => name !== null);

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
  | {
      readonly type: 'created';
      readonly code: string;
      readonly events: readonly LinkEvent[];
      /** Further codes that were left out. */
      readonly lacking: readonly string[];
    }
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
      const faults = [
        ...(code === row.code ? [] : [`The code ${row.code} was taken.`]),
        ...decided.lacking.map((lacking) => `The further code ${lacking} was left out.`),
      ];
      const message = faults.length === 0 ? undefined : faults.join(' ');
      return outcome(row.link.disabled ? 'disabled' : 'created', code, message);
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
  /** Further codes of links of this portion. */
  const assigned = new Set<string>();
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

  const isExhausted = (): boolean => {
    const limit = key?.linkLimit ?? null;
    return meter !== null && limit !== null && meter.links + spent >= limit;
  };

  /** Adds the further codes of a new link that are free. Returns their events, and the other codes. */
  const addCodes = (row: ReadyRow, subject: string, events: readonly LinkEvent[]) => {
    const { keyId } = commandOf(row, subject).data;
    const added: EventNamed<'LinkCodeAdded'>[] = [];
    const lacking: string[] = [];
    for (const code of row.codes) {
      const { domain } = linkOfSubject(code);
      const isInactive = domain !== null && domains.get(domain)?.account !== account;
      const isTaken = code === subject || assigned.has(code) || states.has(code);
      const isKnown = isTaken || taken.has(code) || checked.has(code);
      if (isInactive || isKnown || isExhausted()) lacking.push(code);
      else {
        const index = events.length + added.length;
        const { metadata } = commandOf(row, subject);
        const last = { sequence: index, lastEventAt: now };
        const next = { ...nextEvent(last, metadata, index), subject, account };
        assigned.add(code);
        added.push(newEvent('LinkCodeAdded', { code, keyId }, next));
        if (isCheck) {
          spent += 1;
          checkedLinks.push({ subject: code, url: row.link.url });
        } else if (meter) meter.links += 1;
      }
    }
    return { added, lacking };
  };

  const create = (row: ReadyRow, code: string, imported: readonly LinkEvent[]): Decided => {
    if (isExhausted()) return { type: 'quota' };
    const subject = subjectOf({ domain: row.domain, code });
    const { initialState, evolve } = importLinkDecider;
    if (isCheck) {
      spent += 1;
      checkedLinks.push({ subject, url: row.link.url });
    } else if (meter) {
      meter.links += 1;
      meter.allLinks += 1;
    }
    const { added, lacking } = addCodes(row, subject, imported);
    const events = [...imported, ...added];
    states.set(subject, events.reduce(evolve, initialState));
    if (isCheck) return { type: 'created', code, events: [], lacking };
    const link = events.reduce<LedgerLinkState>(evolveLedgerLink, initialLedgerLink);
    if (link.status === 'none') throw new Error(`evolve() returned no link for ${subject}`);
    ledgerLinks.set(subject, link);
    created.push({ ...row.source, subject });
    return { type: 'created', code, events, lacking };
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
    if (assigned.has(subject) || (!state && taken.has(subject))) {
      return { type: 'codeTaken', isDeleted: false };
    }
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
    ...saveCodes(events.filter(isCodeEvent)),
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
    const subjects = ready.flatMap((row) => [subjectOf(row), ...row.codes]);
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
          const domains = [...new Set(ready.flatMap(domainsOf))];
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
