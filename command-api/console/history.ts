/** Histories: each event with the values that it changed, in words. */
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { formatTime } from './format.js';
import { formatNumber } from './locale.js';
import { optionNames } from './option-form.js';
import { describeConditions } from './rules-form.js';
import { texts } from './texts.js';

export interface HistoryEvent {
  readonly type: string;
  readonly time: string;
  readonly actor?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

const { fields, history: text } = texts.values;

interface Change {
  /** The name of the field in words. */
  readonly field: string;
  /** Absent: a value of the event that changes nothing, such as its reason. */
  readonly before?: string;
  readonly after: string;
}

export interface HistoryEntry {
  readonly type: string;
  readonly time: string;
  readonly actor: string | null;
  readonly changes: readonly Change[];
}

/** The fields that an edit replaces. The others describe an event. */
const edited: readonly string[] = [
  ...['url', 'startsAt', 'expiresAt', 'maxClicks', 'password', ...optionNames],
  ...['title', 'note', 'tags'],
];

/** The root key of a quota is not the actor, and every generated code has `custom: false`. */
const isShown = ([name, value]: readonly [string, unknown]): boolean =>
  name !== 'keyId' && !(name === 'custom' && value === false);

const describeRule = (rule: RedirectRule): string => {
  const urls = 'url' in rule ? [rule.url] : rule.split.map(({ url }) => url);
  return `${rule.name}: ${describeConditions(rule.when)} → ${urls.join(', ')}`;
};

const isOneOf = <Name extends string>(
  names: Readonly<Record<Name, string>>,
  name: unknown,
): name is Name => typeof name === 'string' && Object.hasOwn(names, name);

const { roles, installation } = texts.people;

/** Of values that are names. */
const namesByField = new Map<string, Readonly<Record<string, string>>>([
  ['password', text.passwords],
  ['reason', text.reasons],
  ['source', text.sources],
  ['role', { ...roles, ...installation }],
]);

const isEmpty = (value: unknown): boolean =>
  value == null || (Array.isArray(value) && value.length === 0);

const describe = (name: string, value: unknown): string => {
  if (isEmpty(value)) return isOneOf(text.empty, name) ? text.empty[name] : text.none;
  if (typeof value === 'boolean') return value ? text.yes : text.no;
  if (typeof value === 'number') return formatNumber(value);
  if (name === 'rules') return (value as readonly RedirectRule[]).map(describeRule).join('; ');
  if (Array.isArray(value)) return value.map((item) => describe('', item)).join(', ');
  if (typeof value !== 'string') return JSON.stringify(value);
  if (name.endsWith('At')) return formatTime(value);
  const names = namesByField.get(name);
  return names && Object.hasOwn(names, value) ? (names[value] ?? value) : value;
};

/** Whether the event has all values after the change, so that an empty one may be a change. */
const hasAllValues = (type: string): boolean => /(?:Changed|Saved)\.v\d+$/.test(type);

const isDifferent = (before: unknown, after: unknown): boolean =>
  JSON.stringify(before ?? null) !== JSON.stringify(after);

const nameOf = (field: string): string => (isOneOf(fields, field) ? fields[field] : field);

/** The values of a subject before an event. */
type Values = Readonly<Record<string, unknown>>;

/** Absent values are none. */
const initialValues: Values = { forwardQuery: false };

/**
 * The entry of one event.
 *
 * @param earlier the values before the event; absent: not known, then empty values are left out, unless the event has
 *   all values after the change. Of those of such an event, only the changed ones are shown.
 */
export const describeEvent = (
  { type, time, actor, data }: HistoryEvent,
  earlier?: Values,
): HistoryEntry => {
  const isComplete = hasAllValues(type);
  const changes = Object.entries(data)
    .filter(isShown)
    .filter(([name, value]) =>
      earlier ? !isComplete || isDifferent(earlier[name], value) : isComplete || !isEmpty(value),
    )
    .map(([name, value]): Change => {
      // Whether a link was created with a password is not known.
      const isCompared = earlier && (isComplete || (edited.includes(name) && name !== 'password'));
      return {
        field: nameOf(name),
        ...(isCompared && { before: describe(name, earlier[name]) }),
        after: describe(name, value),
      };
    });
  return { type, time, actor: actor ?? null, changes };
};

/** Entries of the events of a link, which start with its creation. */
export const describeHistory = (events: readonly HistoryEvent[]): readonly HistoryEntry[] => {
  let values = initialValues;
  return events.map((event, index) => {
    const entry = describeEvent(event, index === 0 ? undefined : values);
    values = { ...values, ...event.data };
    return entry;
  });
};

/** The name of an actor: one of Linklog's own, the name of a key, or the text as it is. */
export const nameOfActor = (actor: string, keyNames: Readonly<Record<string, string>>): string => {
  if (isOneOf(text.actors, actor)) return text.actors[actor];
  return Object.hasOwn(keyNames, actor) ? (keyNames[actor] ?? actor) : actor;
};
