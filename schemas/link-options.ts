/** The options of a link: events, rows, responses and exports have what is declared here. */
import { z } from 'zod';
import { schemeOf } from './parse-url.js';
import { responseParts } from './components.js';
import { mapRuleUrls, redirectRule, ruleUrls } from './redirect-rules.js';

interface LinkOption<Schema extends z.ZodType, None extends null | false, Shown extends boolean> {
  /** The value in events. A link without the option has none. */
  readonly value: Schema;
  /** What LinkEdited has instead of a value after the option was removed. */
  readonly none: None;
  /** Whether responses and exports show `none` too. */
  readonly isAlwaysShown: Shown;
  readonly description: string;
  /** Replaces the URLs of a value; absent: it has none. */
  readonly mapUrls?: (value: z.output<Schema>, map: (url: string) => string) => z.output<Schema>;
}

const option = <
  Schema extends z.ZodType,
  const None extends null | false = null,
  const Shown extends boolean = false,
>(
  declared: Omit<LinkOption<Schema, None, Shown>, 'none' | 'isAlwaysShown'>,
  [none, isAlwaysShown]: readonly [None, Shown] = [null as None, false as Shown],
): LinkOption<Schema, None, Shown> => ({ ...declared, none, isAlwaysShown });

export const redirectStatuses = [301, 302, 303, 307, 308] as const;
export type RedirectStatus = (typeof redirectStatuses)[number];

/** Whether browsers cache the redirect. */
export const isPermanent = (status: RedirectStatus | null | undefined): boolean =>
  status === 301 || status === 308;

const isWeb = (url: string): boolean => /^https?$/.test(schemeOf(url));

const card = z
  .strictObject({
    title: z.string(),
    description: z.string().exactOptional(),
    image: z.string().exactOptional().describe('An https URL.'),
  })
  .register(responseParts, { id: 'LinkCard' });

export const linkOptions = {
  rules: option(
    {
      value: z.array(redirectRule).min(1),
      description: 'Visitors are redirected by the first rule that matches, otherwise to `url`.',
      mapUrls: mapRuleUrls,
    },
    [null, true],
  ),
  forwardQuery: option(
    {
      value: z.literal(true),
      description: "Whether the visitor's query is appended to that of the destination.",
    },
    [false, true],
  ),
  redirectStatus: option({
    value: z.literal(redirectStatuses).register(responseParts, { id: 'RedirectStatus' }),
    description: 'The status of the redirect. Default: 302.',
  }),
  expiredUrl: option({
    value: z.string(),
    description: 'Where browsers are redirected once the link is expired.',
    mapUrls: (url, map) => map(url),
  }),
  forwardPath: option({
    value: z.literal(true),
    description: 'Whether the path behind the code is appended to that of the destination.',
  }),
  card: option({
    value: card,
    description:
      'What the preview of the link in messages and posts shows: title, description, image.',
    mapUrls: ({ image, ...texts }, map) => ({
      ...texts,
      ...(image !== undefined && { image: map(image) }),
    }),
  }),
};

type Declared = typeof linkOptions;
export type OptionName = keyof Declared;

export const optionNames = Object.keys(linkOptions) as readonly OptionName[];

type Value<Name extends OptionName> = z.output<Declared[Name]['value']>;

/** The options that a link has. */
export type LinkOptions = { readonly [Name in OptionName]?: Value<Name> };

/** Options in LinkEdited; absent: unchanged. */
export type OptionChanges = {
  readonly [Name in OptionName]?: Value<Name> | Declared[Name]['none'];
};

/** Options in requests; absent: unchanged or none. */
export type OptionFields = {
  readonly [Name in OptionName]?: OptionChanges[Name] | null | undefined;
};

/** Whether an option has the value `true` only. */
export const isFlag = (name: OptionName): boolean =>
  linkOptions[name].value.safeParse(true).success;

/** The options that lead visitors to URLs of their own. */
export const optionsWithUrls = optionNames.filter((name) => 'mapUrls' in linkOptions[name]);

export const noOptions: LinkOptions = Object.freeze({});

/** The options among the fields of an event, a request or a row. */
export const optionsIn = (fields: OptionFields): LinkOptions => {
  let found: Record<string, unknown> | null = null;
  for (const name of optionNames) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== false) (found ??= {})[name] = value;
  }
  return found ?? noOptions;
};

/** The options that an edit changes; `null`: none. */
export const changesIn = (fields: OptionChanges): OptionChanges | null => {
  let found: Record<string, unknown> | null = null;
  for (const name of optionNames) {
    if (fields[name] !== undefined) (found ??= {})[name] = fields[name];
  }
  return found;
};

/** The options after an edit. */
export const withChanges = (options: LinkOptions, fields: OptionChanges): LinkOptions => {
  const changes = changesIn(fields);
  return changes ? optionsIn({ ...options, ...changes }) : options;
};

/** The changes that undo those of an edit. */
export const restoring = (fields: OptionFields, before: LinkOptions): OptionChanges =>
  Object.fromEntries(
    optionNames
      .filter((name) => fields[name] !== undefined)
      .map((name) => [name, before[name] ?? linkOptions[name].none]),
  );

const mapped = (map: (name: OptionName) => z.ZodType) =>
  Object.fromEntries(optionNames.map((name) => [name, map(name)]));

const described = (name: OptionName, schema: z.ZodType): z.ZodType =>
  schema.describe(linkOptions[name].description);

/** The fields of an event that creates a link. */
export const createdOptions = mapped((name) =>
  described(name, linkOptions[name].value.exactOptional()),
) as { readonly [Name in OptionName]: z.ZodExactOptional<Declared[Name]['value']> };

type Removable<Name extends OptionName> = Declared[Name]['none'] extends false
  ? z.ZodBoolean
  : z.ZodNullable<Declared[Name]['value']>;

const removable = (name: OptionName): z.ZodType => {
  const { value, none } = linkOptions[name];
  return none === false ? z.boolean() : value.nullable();
};

/** The fields of LinkEdited. */
export const editedOptions = mapped((name) => described(name, removable(name).exactOptional())) as {
  readonly [Name in OptionName]: z.ZodExactOptional<Removable<Name>>;
};

/** The options with other URLs. */
export const mapOptionUrls = (options: LinkOptions, map: (url: string) => string): LinkOptions => {
  if (options === noOptions) return noOptions;
  const replaced = optionNames.flatMap((name) => {
    const value = options[name];
    const { mapUrls } = linkOptions[name] as LinkOption<z.ZodType, null, false>;
    return value === undefined ? [] : [[name, mapUrls?.(value, map) ?? value]];
  });
  return Object.fromEntries(replaced) as LinkOptions;
};

/** The fields of a link that have URLs. */
export interface LeadingLink {
  readonly url: string;
  /** Of a row; `null`: none. */
  readonly options: LinkOptions | null;
}

/** Where the link redirects visitors while it is active. */
export const destinationsOf = ({ url, options }: LeadingLink): readonly string[] => [
  url,
  ...ruleUrls(options?.rules ?? []),
];

/** All URLs of a link, which web safety checks. */
export const urlsOf = ({ url, options }: LeadingLink): readonly string[] => {
  const urls = [url];
  mapOptionUrls(options ?? noOptions, (other) => {
    urls.push(other);
    return other;
  });
  return urls;
};

interface ConflictFields extends LeadingLink {
  readonly maxClicks: number | null;
  readonly hasPassword: boolean;
}

/** Why fields of a link exclude each other; `null` if they do not. */
export const conflictOf = (link: ConflictFields): string | null => {
  const { redirectStatus, forwardQuery, forwardPath } = link.options ?? noOptions;
  if (isPermanent(redirectStatus) && (link.maxClicks !== null || link.hasPassword)) {
    return 'A permanent redirect cannot have maxClicks or a password';
  }
  if ((forwardQuery || forwardPath) && !destinationsOf(link).every(isWeb)) {
    return 'Only http and https destinations can have forwardQuery or forwardPath';
  }
  return null;
};
