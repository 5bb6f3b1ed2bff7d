/**
 * The ledger as a pure function of the log. Each fold takes the known states of the events' subjects and returns the changed
 * ones. Repeats, whose sequence is not above that of the state, and events of unknown subjects are dropped.
 */
import {
  isCreation,
  type AliasOverrideEvent,
  type ApiKeyEvent,
  type CreationEvent,
  type DomainEvent,
  type EventNamed,
  type LinkEvent,
  type LinklogEvent,
  type PlatformEvent,
  type UsageEvent,
  type WebhookEvent,
} from '../../../schemas/events/catalogue.js';
import {
  evolveAliasOverride,
  noOverride,
  type AliasOverride,
} from '../../../schemas/folds/alias-override.js';
import { evolveApiKey, noKey } from '../../../schemas/folds/api-key.js';
import { evolveDomain, noDomain, type Domain } from '../../../schemas/folds/domain.js';
import {
  addSpending,
  evolveMeter,
  spendingOf,
  unusedMeter,
  type KeyMeter,
} from '../../../schemas/folds/key-meter.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLink,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';
import { evolvePlatform, type PlatformState } from '../../../schemas/folds/platform.js';
import { evolveWebhook, noWebhook, type WebhookState } from '../../../schemas/folds/webhook.js';
import type { KnownKey } from '../api-keys.js';

/** A visit of a link with a limit, which the ledger decided. */
export type LimitedVisit = EventNamed<'LinkVisited'> & {
  readonly data: { readonly click: number };
};

export const isLimitedVisit = (event: LinklogEvent): event is LimitedVisit =>
  event.type === 'linklog.LinkVisited.v3' && event.data.click !== null;

const isKnownToLedgerLink = (link: LedgerLinkState, event: LedgerLinkEvent): boolean => {
  const isFirst = isCreation(event);
  if (isFirst || link.status === 'none') return isFirst === (link.status === 'taken');
  if (event.type === 'linklog.LinkVisited.v3') return event.sequence <= link.visitSequence;
  return event.sequence <= link.sequence;
};

/** Folds link events and limited visits. Returns each creation once. */
export const foldLedgerLinks = (
  known: ReadonlyMap<string, LedgerLink>,
  events: readonly (LinkEvent | LimitedVisit)[],
): {
  readonly changed: ReadonlyMap<string, LedgerLink>;
  readonly creations: readonly CreationEvent[];
} => {
  const changed = new Map<string, LedgerLink>();
  const creations: CreationEvent[] = [];
  for (const event of events) {
    const link = changed.get(event.subject) ?? known.get(event.subject) ?? initialState;
    if (isKnownToLedgerLink(link, event)) continue;
    const next = evolveLedgerLink(link, event);
    if (next.status === 'taken') changed.set(event.subject, next);
    if (isCreation(event)) creations.push(event);
  }
  return { changed, creations };
};

/** Folds creations, without repeats, and events of the usage topic. */
export const foldMeters = (
  known: ReadonlyMap<string, KeyMeter>,
  events: readonly (CreationEvent | UsageEvent)[],
): ReadonlyMap<string, KeyMeter> => {
  const changed = new Map<string, KeyMeter>();
  for (const event of events) {
    const spending = spendingOf(event);
    if (spending === null) continue;
    const { keyId } = spending;
    const meter = changed.get(keyId) ?? known.get(keyId) ?? unusedMeter;
    if (isCreation(event)) changed.set(keyId, addSpending(meter, spending));
    else if (event.sequence > meter.usageSequence) changed.set(keyId, evolveMeter(meter, event));
  }
  return changed;
};

export const foldKeys = (
  known: ReadonlyMap<string, KnownKey>,
  events: readonly ApiKeyEvent[],
): ReadonlyMap<string, KnownKey> => {
  const changed = new Map<string, KnownKey>();
  for (const event of events) {
    const state = changed.get(event.subject) ?? known.get(event.subject) ?? noKey;
    const isKnown =
      state.status === 'none'
        ? event.type !== 'linklog.ApiKeyCreated.v3'
        : event.sequence <= state.key.sequence;
    if (isKnown) continue;
    const next = evolveApiKey(state, event);
    if (next.status !== 'none') changed.set(event.subject, next);
  }
  return changed;
};

/** Creates a fold of subjects whose events all have the sequence of the state. */
const foldSubjects =
  <
    State extends { readonly sequence: number },
    Event extends { readonly subject: string; readonly sequence: number },
  >(
    initialState: State,
    evolve: (state: State, event: Event) => State,
  ) =>
  (known: ReadonlyMap<string, State>, events: readonly Event[]): ReadonlyMap<string, State> => {
    const changed = new Map<string, State>();
    for (const event of events) {
      const state = changed.get(event.subject) ?? known.get(event.subject) ?? initialState;
      if (event.sequence <= state.sequence) continue;
      changed.set(event.subject, evolve(state, event));
    }
    return changed;
  };

export const foldOverrides = foldSubjects<AliasOverride, AliasOverrideEvent>(
  noOverride,
  evolveAliasOverride,
);

export const foldDomains = foldSubjects<Domain, DomainEvent>(noDomain, evolveDomain);

export const foldWebhooks = foldSubjects<WebhookState, WebhookEvent>(noWebhook, evolveWebhook);

export const foldPlatform = (
  known: PlatformState,
  events: readonly PlatformEvent[],
): PlatformState =>
  events.reduce(
    (state, event) => (event.sequence > state.sequence ? evolvePlatform(state, event) : state),
    known,
  );
