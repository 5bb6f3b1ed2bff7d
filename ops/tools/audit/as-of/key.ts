import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  type EventNamed,
  type LinklogEvent,
} from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { AliasOverride } from '../../../../schemas/folds/alias-override.js';
import { spendingOf, unusedMeter, type KeyMeter } from '../../../../schemas/folds/key-meter.js';
import { rootIdOf } from '../../../../schemas/folds/api-key.js';
import type { PlanName, PlanTable } from '../../../../schemas/plans.js';
import type { KnownKey } from '../../../ledger/api-keys.js';
import { foldKeys, foldMeters, foldOverrides } from '../../../ledger/rebuild/folds.js';
import { CliError } from '../../cli/errors.js';
import { happenedBy, partsOf, readParts, type LookBack } from './read.js';

/** The keys and overrides of all accounts. They are few. */
export class Accounts {
  readonly keys = new Map<string, KnownKey>();
  readonly overrides = new Map<string, AliasOverride>();
  /** The actor of each key's last event. */
  readonly lastActors = new Map<string, string>();

  add(events: readonly LinklogEvent[]): void {
    for (const event of events.filter(isApiKeyEvent)) {
      for (const [id, state] of foldKeys(this.keys, [event])) {
        this.keys.set(id, state);
        this.lastActors.set(id, event.actor ?? 'unknown');
      }
    }
    const overrides = foldOverrides(this.overrides, events.filter(isAliasOverrideEvent));
    for (const [alias, override] of overrides) this.overrides.set(alias, override);
  }
}

/** A month's quota, and what was spent of it. */
export interface Spent {
  readonly used: number;
  /** More than `used` where the log says of some only the minute that the moment is in. */
  readonly usedAtMost: number;
  /** Of the plan of then, as it is configured now; `null`: none. */
  readonly limit: number | null;
  /** Whether one more was refused for it; `null` where it depends on the seconds in that minute. */
  readonly exhausted: boolean | null;
}

const minuteMs = 60_000;

/** @throws CliError when zero or several keys match the id or name */
const findKey = ({ keys }: Accounts, wanted: string, moment: Date): KnownKey => {
  const byId = keys.get(wanted);
  if (byId) return byId;
  const named = [...keys.values()].filter(({ key }) => key.name === wanted);
  const [first] = named;
  if (first && named.length === 1) return first;
  const what = `had the id or the name ${JSON.stringify(wanted)} at ${moment.toISOString()}`;
  throw new CliError(
    'REFUSED',
    first
      ? `${named.length} keys ${what}; say which: ${named.map(({ key }) => key.id).join(', ')}`
      : `no key ${what}`,
  );
};

/** The plan of a key: its root's. */
const planOf = ({ keys }: Accounts, { key }: KnownKey): PlanName => {
  const plan = key.plan ?? keys.get(rootIdOf(key))?.key.plan;
  if (!plan) throw new Error(`The root of the key ${key.id} has no plan`);
  return plan;
};

/** A key as every answer shows it. */
export const shownKey = (accounts: Accounts, known: KnownKey) => {
  const { key, status } = known;
  return {
    id: key.id,
    name: key.name,
    plan: planOf(accounts, known),
    account: key.account,
    scopes: key.scopes,
    status,
    rootId: rootIdOf(key),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
  };
};

type SpendingEvent = Parameters<typeof foldMeters>[1][number];

const isSpending = (event: LinklogEvent): event is SpendingEvent => spendingOf(event) !== null;

/**
 * What a key was at a moment, and what its root had spent in that month. A minute's calls become an event
 * when the minute is past, so they count by their minute: for certain if it was over, perhaps if the
 * moment is in it. Links are remembered by their codes while this runs, those of the key and month.
 *
 * @throws CliError
 */
export const keyAsOf = async (look: LookBack, wanted: string, { plans }: PlanTable) => {
  const { log, moment } = look;
  const happened = happenedBy(moment);
  const accounts = new Accounts();
  const ofAccounts = await readParts(look, await partsOf(log, topics.accounts.name), (readings) => {
    accounts.add(readings.map(({ event }) => event).filter(happened));
  });
  const known = findKey(accounts, wanted, moment);
  const { lastEventAt } = known.key;
  const shown = shownKey(accounts, known);
  const spender = shown.rootId;

  /** The month's first day, UTC. */
  const month = `${moment.toISOString().slice(0, 7)}-01`;
  const codes = new Set<string>();
  const isNew = ({ subject }: EventNamed<'LinkCreated'>): boolean => {
    const before = codes.size;
    return codes.add(subject).size > before;
  };
  /** What a meter that takes minutes up to one has of the key; `over`: whether it has ended. */
  const counts = (event: SpendingEvent, over: boolean): boolean => {
    if (event.type !== 'linklog.CallsMetered.v1') return true;
    const from = Date.parse(event.data.minute);
    return (over ? from + minuteMs : from) <= moment.getTime();
  };
  let least: KeyMeter = unusedMeter;
  let most: KeyMeter = unusedMeter;
  const add = (meter: KeyMeter, events: readonly SpendingEvent[], over: boolean): KeyMeter => {
    const counted = events.filter((event) => counts(event, over));
    return foldMeters(new Map([[spender, meter]]), counted).get(spender) ?? meter;
  };

  const ofSpending = await readParts(
    look,
    [
      ...(await partsOf(log, topics.usage.name, spender)),
      ...(await partsOf(log, topics.links.name)),
    ],
    (readings) => {
      const events = readings
        .map(({ event }) => event)
        .filter(isSpending)
        .filter((event) =>
          event.type === 'linklog.LinkCreated.v3'
            ? event.data.keyId === spender && event.time >= month && happened(event) && isNew(event)
            : event.type === 'linklog.CallsMetered.v1' || happened(event),
        );
      least = add(least, events, true);
      most = add(most, events, false);
    },
  );

  const plan = plans[shown.plan];
  const spent = (what: 'calls' | 'links' | 'qrCodes', limit: number | null): Spent => {
    const used = least.month === month ? least[what] : 0;
    const usedAtMost = most.month === month ? most[what] : 0;
    const exhausted = limit === null || usedAtMost < limit ? false : used >= limit ? true : null;
    return { used, usedAtMost, limit, exhausted };
  };
  return {
    asOf: moment.toISOString(),
    ...shown,
    lastChange: {
      at: lastEventAt.toISOString(),
      by: accounts.lastActors.get(shown.id) ?? 'unknown',
    },
    month,
    calls: spent('calls', plan.monthlyCalls),
    links: spent('links', plan.monthlyLinks),
    qrCodes: spent('qrCodes', plan.monthlyQrCodes),
    readUpTo: { ...ofAccounts.readUpTo, ...ofSpending.readUpTo },
    unreadable: ofAccounts.unreadable + ofSpending.unreadable,
  };
};

export type KeyThen = Awaited<ReturnType<typeof keyAsOf>>;
