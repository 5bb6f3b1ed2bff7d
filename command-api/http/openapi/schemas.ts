/** The JSON Schemas of the documents, in the form that client generators read. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { requestParts, responseParts } from '../../../schemas/components.js';
import { browserFamilies, deviceTypes, osFamilies } from '../../../schemas/events/visitor.js';
import { linkStatuses } from '../../../schemas/folds/link-status.js';
import { planError } from '../../../schemas/http/errors.js';
import { rowOutcomes, switchValues } from '../../../schemas/http/imports.js';
import { urlFaults } from '../../../schemas/http/link-fields.js';
import { deliveryStatus, webhookResponse } from '../../../schemas/http/webhooks.js';
import { planNames } from '../../../schemas/plans.js';
import { anyRole, roleNames, roleSource } from '../../../schemas/roles.js';
import { scopeNames } from '../../../schemas/scopes.js';
import { intervals } from '../../../schemas/statistics/period.js';

/** An object of the document. */
export type SchemaPart = Readonly<Record<string, unknown>>;
export type JsonSchema = Readonly<Record<string, unknown>>;

const pathOf = (name: string): string => `#/components/schemas/${name}`;

/** A reference to the component of a schema. @throws Error for a schema without a name */
export const refTo = (schema: z.ZodType): JsonSchema => {
  const { id } = responseParts.get(schema) ?? requestParts.get(schema) ?? {};
  if (id === undefined) throw new Error('a body of the API has a schema without a name');
  return { $ref: pathOf(id) };
};

type Keywords = Readonly<Record<string, unknown>>;

/** The enums that several schemas have. */
const enums: Readonly<Record<string, readonly string[]>> = {
  Scope: scopeNames,
  Plan: planNames,
  Role: roleNames,
  AnyRole: anyRole.options,
  RoleSource: roleSource.options,
  Feature: planError.shape.feature.options,
  UrlFault: urlFaults,
  LinkStatus: linkStatuses,
  Interval: intervals,
  DeviceType: deviceTypes,
  OsFamily: osFamilies,
  Browser: browserFamilies,
  RowOutcome: rowOutcomes,
  Toggle: switchValues,
  DeliveryStatus: deliveryStatus.options,
  WebhookStatus: webhookResponse.shape.status.options,
};

const enumSchemas = Object.fromEntries(
  Object.entries(enums).map(([name, values]) => [name, { type: 'string', enum: values }]),
);

const withReference = (schema: Keywords): Keywords => {
  const [name] =
    Object.entries(enumSchemas).find((entry) => isDeepStrictEqual(entry[1].enum, schema['enum'])) ??
    [];
  if (name === undefined) return schema;
  const others = Object.entries(schema).filter(([keyword]) => !['type', 'enum'].includes(keyword));
  return { ...Object.fromEntries(others), $ref: pathOf(name) };
};

const propertiesOf = (schema: Keywords): Readonly<Record<string, Keywords>> =>
  (schema['properties'] ?? {}) as Readonly<Record<string, Keywords>>;

/** The schema that allows the values of both. */
const merge = (first: Keywords, second: Keywords): Keywords => {
  if (isDeepStrictEqual(first, second)) return first;
  const common = Object.entries(first).filter(([keyword, value]) =>
    isDeepStrictEqual(value, second[keyword]),
  );
  const { description = second['description'] } = first;
  const schema = {
    ...Object.fromEntries(common),
    ...(description !== undefined && { description }),
  };
  const type = [...new Set([first['type'], second['type']].flat())];
  if (!('properties' in first)) return { ...schema, type: type.length === 1 ? type[0] : type };
  const properties = { ...propertiesOf(first) };
  for (const [name, other] of Object.entries(propertiesOf(second))) {
    const property = properties[name];
    properties[name] = property ? merge(property, other) : other;
  }
  const required = (second['required'] ?? []) as readonly unknown[];
  const shared = ((first['required'] ?? []) as readonly unknown[]).filter((name) =>
    required.includes(name),
  );
  return { ...schema, properties, required: shared };
};

/** Client generators make a type of its own of each union, but know lists of types and optional properties. */
const withoutUnion = (schema: Keywords): Keywords => {
  const { anyOf, ...others } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const [first = {}, ...rest] = anyOf as readonly Keywords[];
  // With `anyOf`, NSwag makes an empty class of a reference.
  if ('$ref' in first) return { ...others, oneOf: anyOf };
  const [none] = rest;
  if (none?.['type'] !== 'null') return { ...rest.reduce(merge, first), ...others };
  const { type, enum: values } = first;
  return {
    ...first,
    ...others,
    type: [type, 'null'].flat(),
    ...(Array.isArray(values) && { enum: [...(values as readonly unknown[]), null] }),
  };
};

/** Generated clients compare booleans and numbers with the text of a `const`. */
const withoutConst = (schema: Keywords): Keywords => {
  const { const: value, ...others } = schema;
  if (typeof value === 'boolean') return others;
  return typeof value === 'number' ? { ...others, type: 'integer' } : schema;
};

/** Generators have types of their own for these; clients would compare the pattern with a value that is no text. */
const typedFormats: readonly unknown[] = ['date', 'date-time', 'uuid'];

/** Whether a keyword matters only to zod, or misleads client generators. */
const isNoise = (schema: Keywords, keyword: string): boolean =>
  // In JSON Schema, `readOnly` means that clients cannot send the field.
  keyword === 'readOnly' ||
  // Of records: a generator makes their values optional.
  (keyword === 'propertyNames' && Object.hasOwn(schema, 'additionalProperties')) ||
  (keyword === 'minimum' && schema[keyword] === Number.MIN_SAFE_INTEGER) ||
  (keyword === 'maximum' && schema[keyword] === Number.MAX_SAFE_INTEGER) ||
  (keyword === 'pattern' && typedFormats.includes(schema['format']));

/** The value with its schemas, the innermost first, as client generators read them. */
const plain = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const schema = value as Keywords;
  const keywords = Object.entries(schema)
    .filter(([keyword]) => !isNoise(schema, keyword))
    .map(([keyword, part]) => [
      keyword === 'secret' && part === true ? 'x-secret' : keyword,
      plain(part),
    ]);
  return withReference(withoutUnion(withoutConst(Object.fromEntries(keywords) as Keywords)));
};

const ownKeywords = new Set(['$schema', '$id']);

const withoutOwnKeywords = (schema: object): JsonSchema =>
  plain(
    Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword))),
  ) as JsonSchema;

/** The components among these that a value references, directly or not. */
const referencedBy = (
  value: unknown,
  schemas: Readonly<Record<string, JsonSchema>>,
): Record<string, JsonSchema> => {
  const texts = new Set([JSON.stringify(value)]);
  const found: Record<string, JsonSchema> = {};
  // The loop includes what it adds.
  for (const text of texts) {
    for (const [name, schema] of Object.entries(schemas)) {
      if (!text.includes(`"${pathOf(name)}"`)) continue;
      found[name] = schema;
      texts.add(JSON.stringify(schema));
    }
  }
  return found;
};

const schemasIn = (
  parts: typeof requestParts,
  io: 'input' | 'output',
  target: 'draft-07' | 'draft-2020-12' = 'draft-2020-12',
): Record<string, JsonSchema> => {
  const { schemas } = z.toJSONSchema(parts, { io, target, uri: pathOf });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutOwnKeywords(schema)]),
  );
};

let converted: Readonly<Record<string, JsonSchema>> | null = null;

/** Converts requests and responses once, which takes 0.1 s. Bodies are registered with the paths. */
const bodySchemas = (): Readonly<Record<string, JsonSchema>> =>
  (converted ??= {
    ...enumSchemas,
    ...schemasIn(responseParts, 'output'),
    // Their limits also describe the parts of responses.
    ...schemasIn(requestParts, 'input'),
  });

/** The schemas of events, with the parts and enums that they reference. AsyncAPI has draft 7. */
export const eventSchemas = (
  named: Readonly<Record<string, z.ZodType>>,
): Record<string, JsonSchema> => {
  // The event `CloudEvent` replaces the response of this name in the registry.
  bodySchemas();
  for (const [id, schema] of Object.entries(named)) responseParts.add(schema, { id });
  const parts = schemasIn(responseParts, 'input', 'draft-07');
  const own = Object.fromEntries(Object.keys(named).map((name) => [name, parts[name] ?? {}]));
  return { ...own, ...referencedBy(own, { ...parts, ...enumSchemas }) };
};

/** The document's `components.schemas`: input types of requests, output types of responses. */
export const componentSchemas = (paths: SchemaPart): Record<string, JsonSchema> =>
  referencedBy(paths, bodySchemas());

const toSchema = (schema: z.ZodType): JsonSchema =>
  // Transformed texts have no schema, so their `meta` describes them.
  withoutOwnKeywords(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }));

export const parameterOf = (name: string, location: string, field: z.ZodType): JsonSchema => {
  const { description, explode = false, ...schema } = toSchema(field);
  return {
    name,
    in: location,
    ...(description !== undefined && { description }),
    // Comma-separated by default.
    ...(schema['type'] === 'array' && { style: 'form', explode }),
    schema,
  };
};

/** The parameters of a query, with the types of their parsed values. */
export const parametersOf = (query: z.ZodObject): readonly JsonSchema[] =>
  Object.entries(query.shape).map(([name, field]) =>
    parameterOf(name, 'query', field as z.ZodType),
  );
