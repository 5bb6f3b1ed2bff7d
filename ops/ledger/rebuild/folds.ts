/**
 * The ledger as a pure function of the log. Each fold takes the known states of the events' subjects and returns the changed
 * ones. Repeats, whose sequence is not above that of the state, and events of unknown subjects are dropped.
 */
import {
  isCodeEvent,
  isCreation,
  isLinkEvent,
  isVisit,
  type ApiKeyEvent,
  type CodeEvent,
  type CreationEvent,
  type EventNamed,
  type LinkEvent,
  type LinklogEvent,
  type UsageEvent,
} from '../../../schemas/events/catalogue.js';
import { evolveAliasOverride, noOverride } from '../../../schemas/folds/alias-override.js';
import { evolveApiKey, noKey, type ApiKeyState } from '../../../schemas/folds/api-key.js';
import { evolveDomain, noDomain } from '../../../schemas/folds/domain.js';
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
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';
import { evolveInvitation } from '../../../schemas/folds/invitation.js';
import { evolvePerson, noPerson } from '../../../schemas/folds/person.js';
import { evolvePlatform, initialPlatform } from '../../../schemas/folds/platform.js';
import { evolveShare } from '../../../schemas/folds/share.js';
import { evolveUtmTemplate } from '../../../schemas/folds/utm-template.js';
import { evolveWebhook } from '../../../schemas/folds/webhook.js';
import { noSubject } from '../../../schemas/folds/subject-state.js';

export type Fold<State, Event> = (
  known: ReadonlyMap<string, State>,
  events: readonly Event[],
) => ReadonlyMap<string, State>;

const foldOf =
  <State, Event>(fold: {
    readonly initialState: State;
    readonly evolve: (state: State, event: Event) => State;
    /** Whether the event is a repeat, or its subject is unknown. */
    readonly isKnown: (state: State, event: Event) => boolean;
    readonly subjectOf: (event: Event) => string;
  }): Fold<State, Event> =>
  (known, events) => {
    const changed = new Map<string, State>();
    for (const event of events) {
      const subject = fold.subjectOf(event);
      const state = changed.get(subject) ?? known.get(subject) ?? fold.initialState;
      if (!fold.isKnown(state, event)) changed.set(subject, fold.evolve(state, event));
    }
    return changed;
  };

const subjectOf = ({ subject }: LinklogEvent): string => subject;

/** Creates a fold of subjects whose events all have the sequence of the state. */
const foldSubjects = <State extends { readonly sequence: number }, Event extends LinklogEvent>(
  initialState: State,
  evolve: (state: State, event: Event) => State,
): Fold<State, Event> =>
  foldOf({
    initialState,
    evolve,
    isKnown: (state, event) => event.sequence <= state.sequence,
    subjectOf,
  });

export const foldOverrides = foldSubjects(noOverride, evolveAliasOverride);
export const foldDomains = foldSubjects(noDomain, evolveDomain);
export const foldWebhooks = foldSubjects(noSubject, evolveWebhook);
export const foldShares = foldSubjects(noSubject, evolveShare);
export const foldPeople = foldSubjects(noPerson, evolvePerson);
export const foldInvitations = foldSubjects(noSubject, evolveInvitation);
export const foldUtmTemplates = foldSubjects(noSubject, evolveUtmTemplate);
export const foldPlatform = foldSubjects(initialPlatform, evolvePlatform);

export const foldKeys = foldOf<ApiKeyState, ApiKeyEvent>({
  initialState: noKey,
  evolve: evolveApiKey,
  isKnown: (state, event) =>
    state.status === 'none'
      ? event.type !== 'linklog.ApiKeyCreated.v3'
      : event.sequence <= state.key.sequence,
  subjectOf,
});

type LimitedVisit = EventNamed<'LinkVisited'> & {
  readonly data: { readonly click: number };
};

export const isLimitedVisit = (event: LinklogEvent): event is LimitedVisit =>
  isVisit(event) && event.data.click !== null;

export const isEventOfLedgerLink = (event: LinklogEvent): event is LinkEvent | LimitedVisit =>
  isLinkEvent(event) || isLimitedVisit(event);

export const foldLedgerLinks = foldOf<LedgerLinkState, LinkEvent | LimitedVisit>({
  initialState,
  evolve: evolveLedgerLink,
  isKnown(link, event) {
    const isFirst = isCreation(event);
    if (isFirst || link.status === 'none') return isFirst === (link.status === 'taken');
    if (isVisit(event)) return event.sequence <= link.visitSequence;
    return event.sequence <= link.sequence;
  },
  subjectOf,
});

/** Returns the creations of new links, without repeats. */
export const creationsIn = (
  known: ReadonlyMap<string, unknown>,
  events: readonly LinkEvent[],
): readonly CreationEvent[] => {
  const subjects = new Set<string>();
  return events.filter(isCreation).filter(({ subject }) => {
    const isFirst = !known.has(subject) && !subjects.has(subject);
    subjects.add(subject);
    return isFirst;
  });
};

type Addition = EventNamed<'LinkCodeAdded'>;

/** Returns the further codes that existing links got, without repeats. @param links after the events */
export const codesIn = (
  known: ReadonlyMap<string, LedgerLinkState>,
  links: ReadonlyMap<string, LedgerLinkState>,
  events: readonly LinkEvent[],
): readonly CodeEvent[] => {
  const sequences = new Map<string, number>();
  return events.filter(isCodeEvent).filter(({ subject, sequence }) => {
    const before = known.get(subject);
    const last = sequences.get(subject) ?? (before?.status === 'taken' ? before.sequence : 0);
    if (!links.has(subject) || sequence <= last) return false;
    sequences.set(subject, sequence);
    return true;
  });
};

export type SpendingEvent = CreationEvent | Addition | UsageEvent;

const isOfLink = (event: SpendingEvent): event is CreationEvent | Addition =>
  isCreation(event) || event.type === 'linklog.LinkCodeAdded.v1';

export const spenderOf = (event: SpendingEvent): string =>
  isOfLink(event) ? event.data.keyId : event.subject;

/** Folds creations and further codes, without repeats, and events of the usage topic, by `spenderOf`. */
export const foldMeters = foldOf<KeyMeter, SpendingEvent>({
  initialState: unusedMeter,
  evolve(meter, event) {
    if (!isOfLink(event)) return evolveMeter(meter, event);
    const spending = spendingOf(event);
    return spending === null ? meter : addSpending(meter, spending);
  },
  isKnown: (meter, event) =>
    spendingOf(event) === null || (!isOfLink(event) && event.sequence <= meter.usageSequence),
  subjectOf: spenderOf,
});
