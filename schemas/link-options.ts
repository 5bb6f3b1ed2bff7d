/** The options of a link: events, rows, responses and exports have what is declared here. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { mapRuleUrls, redirectRule } from './redirect-rules.js';

interface LinkOption<Schema extends z.ZodType, None extends null | false = null | false> {
  /** The value in events. A link without the option has none. */
  readonly value: Schema;
  /** What LinkEdited has instead of a value after the option was removed. */
  readonly none: None;
  readonly description: string;
  /** Replaces the URLs of a value; absent: it has none. */
  readonly mapUrls?: (value: z.output<Schema>, map: (url: string) => string) => z.output<Schema>;
}

const option = <Schema extends z.ZodType, const None extends null | false>(
  declared: LinkOption<Schema, None>,
) => declared;

export const linkOptions = {
  rules: option({
    value: z.array(redirectRule).min(1),
    none: null,
    description: 'Visitors are redirected by the first rule that matches, otherwise to `url`.',
    mapUrls: mapRuleUrls,
  }),
  forwardQuery: option({
    value: z.literal(true),
    none: false,
    description: "Whether the visitor's query is appended to that of the destination.",
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

/** The options with other values than these, with the values of a request. */
export const differingFrom = (options: LinkOptions, fields: OptionFields): OptionChanges =>
  Object.fromEntries(
    optionNames.flatMap((name) => {
      const { none } = linkOptions[name];
      const [value, current] = [fields[name], options[name] ?? none];
      const isSame = value === undefined || isDeepStrictEqual(value ?? none, current);
      return isSame ? [] : [[name, value ?? none]];
    }),
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
    const { mapUrls } = linkOptions[name] as LinkOption<z.ZodType>;
    return value === undefined ? [] : [[name, mapUrls?.(value, map) ?? value]];
  });
  return Object.fromEntries(replaced) as LinkOptions;
};

/** The fields of a link that determine where it leads. */
export interface LeadingLink {
  readonly url: string;
  /** Of a row; `null`: none. */
  readonly options: LinkOptions | null;
}

/** All URLs to which a link leads visitors. */
export const destinationsOf = ({ url, options }: LeadingLink): readonly string[] => {
  const urls = [url];
  mapOptionUrls(options ?? noOptions, (other) => {
    urls.push(other);
    return other;
  });
  return urls;
};
