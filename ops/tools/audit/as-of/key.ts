import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isCreation,
  isDomainEvent,
  isPlatformEvent,
  isUtmTemplateEvent,
  type CreationEvent,
  type LinklogEvent,
} from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { AliasOverride } from '../../../../schemas/folds/alias-override.js';
import type { Domain } from '../../../../schemas/folds/domain.js';
import { spendingOf, type KeyMeter } from '../../../../schemas/folds/key-meter.js';
import { rootIdOf } from '../../../../schemas/folds/api-key.js';
import type { PlanName, PlanTable } from '../../../../schemas/plans.js';
import type { PlatformState } from '../../../../schemas/folds/platform.js';
import type { UtmTemplateState } from '../../../../schemas/folds/utm-template.js';
import type { KnownKey } from '../../../ledger/api-keys.js';
import {
  foldDomains,
  foldKeys,
  foldMeters,
  foldOverrides,
  foldPlatform,
  foldUtmTemplates,
  type Fold,
  type SpendingEvent,
} from '../../../ledger/rebuild/folds.js';
import { CliError } from '../../cli/errors.js';
import { happenedBy, partsOf, readParts, type AsOfQuery } from './read.js';

export const addTo = <State, Event>(
  states: Map<string, State>,
  fold: Fold<State, Event>,
  events: readonly Event[],
): void => {
  for (const [subject, state] of fold(states, events)) states.set(subject, state);
};

/** The ledger without links and meters, which fits into memory. */
export class LedgerAt {
  readonly keys = new Map<string, KnownKey>();
  readonly overrides = new Map<string, AliasOverride>();
  readonly domains = new Map<string, Domain>();
  readonly utmTemplates = new Map<string, UtmTemplateState>();
  readonly platform = new Map<string, PlatformState>();
  /** The actor of each key's last change. */
  readonly lastActors = new Map<string, string>();

  add(events: readonly LinklogEvent[]): void {
    for (const event of events.filter(isApiKeyEvent)) {
      for (const [id, state] of foldKeys(this.keys, [event])) {
        if (state.status !== 'none') this.keys.set(id, state);
        this.lastActors.set(id, event.actor ?? 'unknown');
      }
    }
    addTo(this.overrides, foldOverrides, events.filter(isAliasOverrideEvent));
    addTo(this.domains, foldDomains, events.filter(isDomainEvent));
    addTo(this.utmTemplates, foldUtmTemplates, events.filter(isUtmTemplateEvent));
    addTo(this.platform, foldPlatform, events.filter(isPlatformEvent));
  }
}

export interface Spent {
  readonly used: number;
  /** More than `used` if calls were metered in the minute of the moment, of which the log has no seconds. */
  readonly usedAtMost: number;
  /** The current limit of the plan of that moment; `null` for none. */
  readonly limit: number | null;
  /** Whether the next request was refused; `null` if that depends on the seconds of that minute. */
  readonly exhausted: boolean | null;
}

const minuteMs = 60_000;

/** @throws CliError if zero or several keys match the id or name */
const findKey = ({ keys }: LedgerAt, wanted: string, moment: Date): KnownKey => {
  const byId = keys.get(wanted);
  if (byId) return byId;
  const named = [...keys.values()].filter(({ key }) => key.name === wanted);
  const [first] = named;
  if (first && named.length === 1) return first;
  const match = `had the id or the name ${JSON.stringify(wanted)} at ${moment.toISOString()}`;
  throw new CliError(
    'REFUSED',
    first
      ? `${named.length} keys ${match}; use one of the ids ${named.map(({ key }) => key.id).join(', ')}`
      : `no key ${match}`,
  );
};

/** A key has the plan of its root. */
const planOf = ({ keys }: LedgerAt, { key }: KnownKey): PlanName => {
  const plan = key.plan ?? keys.get(rootIdOf(key))?.key.plan;
  if (!plan) throw new Error(`the root ${rootIdOf(key)} of the key ${key.id} has no plan`);
  return plan;
};

export const shownKey = (ledger: LedgerAt, known: KnownKey) => {
  const { key, status } = known;
  return {
    id: key.id,
    name: key.name,
    plan: planOf(ledger, known),
    account: key.account,
    scopes: key.scopes,
    status,
    rootId: rootIdOf(key),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
  };
};

const isSpending = (event: LinklogEvent): event is SpendingEvent => spendingOf(event) !== null;

/**
 * Returns the state of a key at a moment, and the usage of its root in that month. The calls of a minute become an event
 * when the minute is over. If the moment is in the minute, its calls count in `usedAtMost` only. The subjects of the links
 * that the root created in the month are kept in memory.
 *
 * @throws CliError
 */
export const keyAsOf = async (query: AsOfQuery, wanted: string, { plans }: PlanTable) => {
  const { log, moment } = query;
  const happened = happenedBy(moment);
  const ledger = new LedgerAt();
  const accountParts = await partsOf(log, topics.accounts.name);
  const accountSummary = await readParts(query, accountParts, (events) => {
    ledger.add(events.filter(happened));
  });
  const known = findKey(ledger, wanted, moment);
  const { lastEventAt } = known.key;
  const shown = shownKey(ledger, known);
  const spender = shown.rootId;

  /** The month's first day, UTC. */
  const month = `${moment.toISOString().slice(0, 7)}-01`;
  const subjects = new Set<string>();
  const isNew = ({ subject }: CreationEvent): boolean => {
    const before = subjects.size;
    return subjects.add(subject).size > before;
  };
  /** Whether the minute of the event had begun, or had ended if `isOver`. */
  const counts = (event: SpendingEvent, isOver: boolean): boolean => {
    if (event.type !== 'linklog.CallsMetered.v1') return true;
    const from = Date.parse(event.data.minute);
    return (isOver ? from + minuteMs : from) <= moment.getTime();
  };
  const lowerBound = new Map<string, KeyMeter>();
  const upperBound = new Map<string, KeyMeter>();
  const usageSummary = await readParts(
    query,
    [
      ...(await partsOf(log, topics.usage.name, spender)),
      ...(await partsOf(log, topics.links.name)),
    ],
    (events) => {
      const spendings = events
        .filter(isSpending)
        .filter((event) =>
          isCreation(event)
            ? event.data.keyId === spender && event.time >= month && happened(event) && isNew(event)
            : event.type === 'linklog.CallsMetered.v1' || happened(event),
        );
      addTo(
        lowerBound,
        foldMeters,
        spendings.filter((event) => counts(event, true)),
      );
      addTo(
        upperBound,
        foldMeters,
        spendings.filter((event) => counts(event, false)),
      );
    },
  );

  const plan = plans[shown.plan];
  const spent = (quota: 'calls' | 'links' | 'qrCodes', limit: number | null): Spent => {
    const usedIn = (meter: KeyMeter | undefined): number =>
      meter?.month === month ? meter[quota] : 0;
    const used = usedIn(lowerBound.get(spender));
    const usedAtMost = usedIn(upperBound.get(spender));
    const exhausted = limit === null || usedAtMost < limit ? false : used >= limit ? true : null;
    return { used, usedAtMost, limit, exhausted };
  };
  return {
    asOf: moment.toISOString(),
    ...shown,
    lastChange: {
      at: lastEventAt.toISOString(),
      by: ledger.lastActors.get(shown.id) ?? 'unknown',
    },
    month,
    calls: spent('calls', plan.monthlyCalls),
    links: spent('links', plan.monthlyLinks),
    qrCodes: spent('qrCodes', plan.monthlyQrCodes),
    readUpTo: { ...accountSummary.readUpTo, ...usageSummary.readUpTo },
    unreadable: accountSummary.unreadable + usageSummary.unreadable,
  };
};

export type KeySnapshot = Awaited<ReturnType<typeof keyAsOf>>;
