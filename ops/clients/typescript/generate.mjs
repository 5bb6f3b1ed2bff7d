/**
 * The first step of `npm run build`: derives the operations of the client and their types from the OpenAPI document,
 * into `dist/ops/clients/typescript/src/operations.js` and `dist/generated`, unless the sources are unchanged. It runs before `tsc`,
 * which compiles the client against them, so Vite loads the document from its sources.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const sources = path.join('ops', 'clients', 'typescript', 'src');
const target = path.join(root, 'dist', sources);
/** Apart from compiled modules, which the compiler would find before their sources. */
const typesTarget = path.join(root, 'dist', 'generated', sources);
const methodsFile = fileURLToPath(new URL('methods.json', import.meta.url));
const builtFrom = path.join(target, 'operations.sha256');

/** The document depends on these folders, on the version, and on the versions of the libraries. */
const hashOfSources = () => {
  const files = ['schemas', 'command-api/http/openapi'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => path.join(root, folder, name))
      .sort(),
  );
  const hash = createHash('sha256');
  const others = ['package.json', 'package-lock.json'].map((name) => path.join(root, name));
  for (const file of [...files, ...others, methodsFile, fileURLToPath(import.meta.url)]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest('hex');
};

const isBuiltFrom = (hash) => {
  try {
    return readFileSync(builtFrom, 'utf8') === hash;
  } catch {
    // Not built yet.
    return false;
  }
};

/** Its page and its stream have methods by hand. */
const byHand = ['getEvents'];

const typeOf = (name) => `Schemas[${JSON.stringify(name)}]`;

const jsonIn = (content) => content?.['application/json']?.schema.$ref?.split('/').at(-1);

/** The only array of a page, whose other properties are about the page. */
const itemsOf = (method, { properties = {} } = {}) => {
  const arrays = Object.entries(properties).filter(([, { type }]) => type === 'array');
  const others = Object.keys(properties).filter((name) => name !== arrays[0]?.[0]);
  const isPage = others.every((name) => ['next', 'count', 'actorNames'].includes(name));
  return method === 'GET' && isPage && arrays[0] ? arrays[0] : null;
};

/** How the method reads a response, and what it returns. */
const resultOf = (content, items) => {
  const result = jsonIn(content);
  if (items) {
    const item = items[1].items.$ref.split('/').at(-1);
    return [{ items: items[0] }, `List<${typeOf(item)}, ${typeOf(result)}>`];
  }
  const row = content?.['application/x-ndjson']?.['x-itemSchema'].$ref;
  if (row) return [{ kind: 'lines' }, `AsyncIterable<${typeOf(row.split('/').at(-1))}>`];
  if (content && !result) return [{ kind: 'bytes' }, 'Promise<Uint8Array>'];
  return [{ kind: 'json' }, `Promise<${result ? typeOf(result) : 'void'}>`];
};

/** What the methods of an operation need, and their declarations. */
const describe = (method, route, item, operation, schemas) => {
  const { operationId, summary, description, requestBody, responses } = operation;
  const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const has = (name) => all.some((parameter) => parameter.name === name);
  const query = all.filter((parameter) => parameter.in === 'query');
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const [body, result] = [jsonIn(requestBody?.content), jsonIn(success.content)];
  const items = itemsOf(method, schemas[result]);
  // The domain of a link is an option, if it is the only parameter.
  const isAddressed = query.length === 1 && query[0].name === 'domain' && route.includes('{');
  const hasQuery = query.length > 0 && !isAddressed;
  const queryName = `${operationId[0].toUpperCase()}${operationId.slice(1)}Query`;
  if (hasQuery) {
    if (queryName in schemas) throw new Error(`${queryName} is also a component`);
    // A schema, so that it gets a name and the descriptions of its parameters.
    const properties = query.map((part) => [
      part.name,
      { ...part.schema, description: part.description },
    ]);
    schemas[queryName] = { type: 'object', properties: Object.fromEntries(properties) };
  }
  const options = {
    isIdempotent: has('Idempotency-Key'),
    hasVersion: has('If-Match'),
    isAddressed,
  };
  const optionType = options.isIdempotent
    ? 'CreateOptions'
    : options.hasVersion
      ? 'ChangeOptions'
      : isAddressed
        ? 'LinkOptions'
        : 'CallOptions';
  const isLines = 'application/x-ndjson' in (success.content ?? {});
  // `export` has objects, and `exportFile` the formats.
  const hasFormats = isLines && has('format');
  const filter = hasFormats
    ? `Omit<${typeOf(queryName)}, "format">`
    : items && has('after')
      ? `Omit<${typeOf(queryName)}, "after">`
      : typeOf(queryName);
  const isOptional = method === 'POST' && !schemas[body]?.required;
  const parameters = [
    ...[...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}: string`),
    ...(body ? [`body${isOptional ? '?' : ''}: ${typeOf(body)}`] : []),
    ...(requestBody && !body ? ['file: ImportFile'] : []),
    ...(hasQuery ? [`query?: ${filter}`] : []),
    `options?: ${optionType}`,
  ];
  const [kind, returned] = resultOf(success.content, items);
  const bodyKind = body ? 'json' : requestBody && 'file';
  const parts = { method, path: route, body: bodyKind, hasQuery, ...options, result: kind };
  const entry = Object.fromEntries(Object.entries(parts).filter(([, value]) => value));
  const text = `  /** ${summary}. ${description.split(/(?<=\.) /)[0]} */\n`;
  const declare = (name) => `${text}  ${name}(${parameters.join(', ')}): ${returned};`;
  const declareFile = (name) =>
    `${text}  ${name}(query?: ${typeOf(queryName)}, options?: CallOptions): AsyncIterable<Uint8Array>;`;
  return [
    [operationId, { entry, declare }],
    ...(hasFormats
      ? [
          [
            `${operationId}File`,
            { entry: { ...entry, result: { kind: 'stream' } }, declare: declareFile },
          ],
        ]
      : []),
  ];
};

/** Keywords that would only be comments of the types. */
const isComment = (name, value) =>
  ['default', 'examples', 'format', 'pattern'].includes(name) &&
  (typeof value !== 'object' || value === null || Array.isArray(value));

const withoutComments = (schema) => {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutComments);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) => !isComment(name, value))
      .map(([name, value]) => [name, withoutComments(value)]),
  );
};

/** The components that these schemas need. */
const used = (schemas, roots) => {
  const names = new Set();
  const visit = (text) => {
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name)) continue;
      names.add(name);
      visit(JSON.stringify(schemas[name]));
    }
  };
  visit(roots.map((name) => `"#/components/schemas/${name}"`).join());
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => names.has(name)));
};

const generate = async () => {
  const { runnerImport } = await import('vite');
  const source = path.join(root, 'command-api', 'http', 'openapi', 'document.ts');
  const { module } = await runnerImport(source, { root, configFile: false, logLevel: 'warn' });
  const document = JSON.parse(JSON.stringify(module.openApiDocument()));
  const { schemas } = document.components;
  const described = new Map();
  for (const [route, item] of Object.entries(document.paths)) {
    if (!route.startsWith('/v2/')) continue;
    for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
      if (!item[method]) continue;
      const methods = describe(method.toUpperCase(), route, item, item[method], schemas);
      for (const [id, parts] of methods) described.set(id, parts);
    }
  }
  const methods = JSON.parse(readFileSync(methodsFile, 'utf8'));
  const named = [...Object.values(methods).flatMap(Object.values), ...byHand];
  const missing = [...described.keys()].filter((operationId) => !named.includes(operationId));
  if (missing.length > 0) throw new Error(`methods.json lacks ${missing.join(', ')}`);
  const declared = Object.entries(methods).map(([group, operations]) => {
    const lines = Object.entries(operations).map(([name, id]) => described.get(id).declare(name));
    return ` readonly ${group}: {\n${lines.join('\n')}\n };`;
  });

  const { default: openapiTypescript, astToString } = await import('openapi-typescript');
  const needed = [...declared.join().matchAll(/Schemas\["(\w+)"\]/g)].map(([, name]) => name);
  const queries = Object.keys(schemas).filter((name) => name.endsWith('Query'));
  const roots = [...needed, ...queries, 'Error', 'EventPage'];
  const reduced = {
    openapi: document.openapi,
    info: document.info,
    paths: {},
    components: { schemas: withoutComments(used(schemas, roots)) },
  };
  // A field of a request with a default is optional.
  const ast = await openapiTypescript(reduced, { defaultNonNullable: false });
  const components = astToString(ast.filter((node) => node.name?.text === 'components'))
    .replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 4))
    .replaceAll('@description ', '')
    .replaceAll(/^ *\/\*\* @(?:enum \{\w+\}|constant) \*\/\n/gm, '')
    .replaceAll(/^ *\* @(?:enum \{\w+\}|constant)\n/gm, '')
    .replaceAll(/\/\*\*\n *\* (.*)\n *\*\/$/gm, '/** $1 */');

  const entries = [...described].map(([id, { entry }]) => [id, entry]);
  for (const folder of [target, typesTarget]) mkdirSync(folder, { recursive: true });
  const origin = '// Generated from the OpenAPI document.\n';
  writeFileSync(
    path.join(target, 'operations.js'),
    `${origin}export const operations = ${JSON.stringify(Object.fromEntries(entries))};
export const methods = ${JSON.stringify(methods)};
`,
  );
  writeFileSync(
    path.join(typesTarget, 'operations.d.ts'),
    `${origin}import type { CallOptions, ChangeOptions, CreateOptions, LinkOptions, Operation } from "./options.js";
import type { ImportFile } from "./standards.js";
import type { List } from "./list.js";
${components}
export type Schemas = components["schemas"];
export interface Methods {
${declared.join('\n')}
}
export type OperationId = ${entries.map(([id]) => JSON.stringify(id)).join(' | ')};
export declare const operations: Readonly<Record<OperationId, Operation>>;
export declare const methods: { readonly [Group in keyof Methods]: Readonly<Record<keyof Methods[Group], OperationId>> };
`,
  );
};

const hash = hashOfSources();
if (!isBuiltFrom(hash)) {
  await generate();
  writeFileSync(builtFrom, hash);
}
