/** The history of a link: each event with the values that it changed. */
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { formatTime } from './format.js';
import { formatNumber } from './numbers.js';
import { describeConditions } from './rules-form.js';
import { texts } from './texts.js';

/** An event of a history response. */
export interface HistoryEvent {
  readonly type: string;
  readonly time: string;
  readonly actor?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

const { fields, history: text } = texts.values;

export interface Change {
  /** In words. */
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
  ...['url', 'startsAt', 'expiresAt', 'maxClicks', 'password', 'rules', 'forwardQuery'],
  ...['title', 'note', 'tags'],
];

/** The root key of a quota is not the actor, and a generated code is no news. */
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

const describe = (name: string, value: unknown): string => {
  if (value == null || (Array.isArray(value) && value.length === 0)) return text.none;
  if (typeof value === 'boolean') return value ? text.yes : text.no;
  if (typeof value === 'number') return formatNumber(value);
  if (name === 'rules') return (value as readonly RedirectRule[]).map(describeRule).join('; ');
  if (Array.isArray(value)) return value.map((item) => describe('', item)).join(', ');
  if (typeof value !== 'string') return JSON.stringify(value);
  if (name.endsWith('At')) return formatTime(value);
  if (name === 'password' && isOneOf(text.passwords, value)) return text.passwords[value];
  if (name === 'reason' && isOneOf(text.reasons, value)) return text.reasons[value];
  return value;
};

const nameOf = (field: string): string => (isOneOf(fields, field) ? fields[field] : field);

/** The values of a link before an event. */
type Values = Readonly<Record<string, unknown>>;

/** Absent values are none. */
const initialValues: Values = { forwardQuery: false };

/** Entries of events, which start with the creation of the link. */
export const describeHistory = (events: readonly HistoryEvent[]): readonly HistoryEntry[] => {
  let values = initialValues;
  return events.map(({ type, time, actor = null, data }, index) => {
    const changes = Object.entries(data)
      .filter(isShown)
      .filter(([, value]) => index > 0 || value !== null)
      .map(([name, value]): Change => {
        const after = describe(name, value);
        const isEdit = index > 0 && edited.includes(name);
        // Whether a link was created with a password is not known.
        const before = name === 'password' ? undefined : describe(name, values[name]);
        return {
          field: nameOf(name),
          after,
          ...(isEdit && before !== undefined && { before }),
        };
      });
    values = { ...values, ...data };
    return { type, time, actor, changes };
  });
};

/** The name of an actor: one of Linklog's own, the name of a key, or the text as it is. */
export const nameOfActor = (actor: string, keyNames: Readonly<Record<string, string>>): string => {
  if (isOneOf(text.actors, actor)) return text.actors[actor];
  return Object.hasOwn(keyNames, actor) ? (keyNames[actor] ?? actor) : actor;
};
