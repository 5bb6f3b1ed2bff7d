import { z } from 'zod';
import { describedLike, objectOf, request, requestParts } from '../components.js';
import { listOf } from '../list-of.js';
import { isCountry } from '../countries.js';
import { browserFamilies, deviceTypes, osFamilies } from '../events/visitor.js';
import { languageOfSubtag } from '../languages.js';
import {
  maxRules,
  type RedirectRule,
  redirectRule,
  type RuleConditions,
  ruleConditions,
  splitEntry,
  weeklyWindow,
} from '../redirect-rules.js';
import { networkIn } from '../networks.js';
import { readZone } from '../statistics/period.js';
import { invalidTime, sentTime } from './fields.js';
import { destination, type Destinations } from './link-fields.js';
import { readAs } from './query.js';

/** Errors of values below `rules` start with the path of the value: see `messageWithPath`. */
const maxValues = 50;

const valuesOf = <Item extends z.ZodType>(item: Item) =>
  listOf(item, { min: 1, max: maxValues, error: `must be a list of 1 to ${maxValues} values` });

const oneOf = <const Value extends string>(values: readonly Value[]) =>
  valuesOf(z.enum(values, { error: `must be one of: ${values.join(', ')}` }));

const nameError = 'must have 1 to 50 letters, digits, hyphens and underscores';
const name = z.string({ error: nameError }).regex(/^[\w-]{1,50}$/, nameError);

const textOf = (pattern: RegExp, error: string) => z.string({ error }).regex(pattern, error);

const timeOfDay = textOf(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 22:00');

const dayError = 'must be a day of the week from 1 (Monday) to 7';

const weekly = z
  .strictObject(
    describedLike(weeklyWindow, {
      // Each day may be there several times.
      days: listOf(z.int({ error: dayError }).min(1, dayError).max(7, dayError), {
        ...{ min: 1, max: 50, error: 'must be a list of 1 to 7 days' },
      }).overwrite((days) => [...new Set(days)].sort((a, b) => a - b)),
      from: timeOfDay,
      to: timeOfDay,
      tz: readAs(readZone, 'must be an IANA time zone, such as Europe/Berlin').meta({
        type: 'string',
        examples: ['Europe/Berlin'],
      }),
    }),
    { error: 'must be an object' },
  )
  .refine(({ from, to }) => from !== to, 'from and to must differ')
  .describe(
    '`from` is inclusive, `to` exclusive. A window that crosses midnight belongs to its first day.',
  )
  .register(requestParts, { id: 'WeeklyWindow' });

const time = sentTime(invalidTime);

const queryText = 'must have at most 500 characters';
const parameter = z.string({ error: queryText }).max(500, queryText);
const maxParameters = 10;
const queryError = `must be an object of at most ${maxParameters} parameters`;

/** Counted first, because a body has room for thousands of them. Without a parameter, it is no condition. */
const query = z
  .preprocess(
    (value) => {
      if (typeof value !== 'object' || value === null) return value;
      const count = Object.keys(value).length;
      if (count === 0 && !Array.isArray(value)) return null;
      return count <= maxParameters ? value : [];
    },
    z.record(parameter, parameter.nullable(), { error: queryError }).nullish(),
  )
  .meta({ maxProperties: maxParameters });

const networkError = 'must be an IP address or a CIDR, such as 192.0.2.0/24 or 2001:db8::/32';
const network = z
  .string({ error: networkError })
  .refine((text) => networkIn(text) !== null, networkError);

const countryError = 'must be an ISO 3166-1 alpha-2 code in upper case, such as DE';
const languageError = 'must be a language code in lower case, such as de';

const when = z
  .strictObject(
    describedLike(ruleConditions, {
      countries: valuesOf(
        textOf(/^[A-Z]{2}$/, countryError).refine(isCountry, countryError),
      ).nullish(),
      devices: oneOf(deviceTypes).nullish(),
      os: oneOf(osFamilies).nullish(),
      browsers: oneOf(browserFamilies).nullish(),
      languages: valuesOf(
        textOf(/^[a-z]{2,3}$/, languageError).refine(
          (code) => languageOfSubtag(code) === code,
          languageError,
        ),
      ).nullish(),
      after: time.nullish(),
      before: time.nullish(),
      weekly: weekly.nullish(),
      query,
      networks: valuesOf(network).nullish(),
    }),
    { error: 'must be an object' },
  )
  .transform(
    (conditions) =>
      Object.fromEntries(
        Object.entries(conditions).filter(([, condition]) => condition != null),
      ) as RuleConditions,
  )
  .meta({ description: 'All conditions must match; `{}` always matches.' })
  .register(requestParts, { id: 'RuleConditions' });

const [withUrl, withSplit] = redirectRule.options;

const isUnique = (entries: readonly { readonly name: string }[]): boolean =>
  new Set(entries.map((entry) => entry.name)).size === entries.length;

const weightError = 'must be an integer from 1 to 1000';

/** `rules` of a link; `null`: none. `accepted`: what the installation accepts as destinations. */
export const rulesField = (accepted: Destinations) => {
  const url = destination(accepted);
  const splitError = 'must be a list of 2 to 10 entries';
  const split = listOf(
    request(
      'RuleSplit',
      'must be an object',
      describedLike(splitEntry, {
        name,
        url,
        weight: z.int({ error: weightError }).min(1, weightError).max(1_000, weightError),
      }),
    ),
    { min: 2, max: 10, error: splitError },
  ).refine(isUnique, 'has two entries of the same name');
  const rule = objectOf('must be an object', {
    ...describedLike(withUrl, { name, when, url: url.nullish() }),
    ...describedLike(withSplit, { split: split.nullish() }),
  })
    .refine((value) => (value.url == null) !== (value.split == null), {
      error: 'must have either url or split',
    })
    .transform(({ name: ruleName, when: conditions, url: target, split: entries }) =>
      target == null
        ? { name: ruleName, when: conditions, split: entries ?? [] }
        : { name: ruleName, when: conditions, url: target },
    )
    .register(requestParts, { id: 'RedirectRule' });
  const error = `must be a list of at most ${maxRules} rules`;
  return listOf(rule, { max: maxRules, error })
    .refine(isUnique, 'has two rules of the same name')
    .transform((rules): RedirectRule[] | null => (rules.length === 0 ? null : rules))
    .describe(
      'Visitors are redirected to the URL of the first rule whose conditions all match, otherwise to `url`.',
    );
};

/** `rules[0].when.devices[1]` */
const pathText = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .slice(1);

/** Options whose messages start with the path of the value. */
const withPath: readonly unknown[] = ['rules', 'expiredUrl', 'card'];

/** The message of an issue. For a value of some options, it starts with the path of the value. */
export const messageWithPath = ({ path, message, ...issue }: z.core.$ZodIssue): string => {
  if (!withPath.includes(path[0])) return message;
  return issue.code === 'unrecognized_keys'
    ? `${pathText([...path, ...issue.keys.slice(0, 1)])} is unknown`
    : `${pathText(path)}: ${message}`;
};
