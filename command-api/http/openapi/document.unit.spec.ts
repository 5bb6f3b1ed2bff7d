import { expect } from 'chai';
import { openApiDocument, operatorsDocument } from './document.js';

type Json = Readonly<Record<string, unknown>>;

interface Document {
  readonly info: Json;
  readonly paths: Readonly<Record<string, Json>>;
  readonly components: Readonly<Record<string, Json>>;
}

const read = (value: object): Document => JSON.parse(JSON.stringify(value)) as Document;

const document = read(openApiDocument());

const schemaOf = (name: string): Json => document.components['schemas']?.[name] as Json;

/** All objects of the document. */
const objectsOf = (value: unknown): Json[] => {
  if (typeof value !== 'object' || value === null) return [];
  const children = Object.values(value).flatMap(objectsOf);
  return Array.isArray(value) ? children : [value as Json, ...children];
};

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({ path, method, operation: operation as Json })),
);

describe('command API: OpenAPI document', () => {
  it("has exactly the referenced components, like that of operators' calls", () => {
    for (const { paths, components } of [document, read(operatorsDocument())]) {
      const references = objectsOf({ paths, components }).flatMap(({ $ref }) =>
        typeof $ref === 'string' ? [$ref] : [],
      );
      const parts = ['schemas', 'headers', 'responses'].flatMap((kind) =>
        Object.keys(components[kind] ?? {}).map((part) => `#/components/${kind}/${part}`),
      );
      expect([...new Set(references)]).to.have.members(parts);
    }
  });

  it('describes each operation, and names a contact', () => {
    expect(document.info).to.have.nested.property('contact.name').that.is.a('string').and.is.not
      .empty;
    for (const { path, method, operation } of operations) {
      const what = `${method} ${path}`;
      expect(operation['description'], what).to.be.a('string').and.not.empty;
      expect(operation['description'], what).not.to.equal(operation['summary']);
      expect(operation['tags'], what).to.have.length(1);
    }
  });

  it('bounds each array of a request', () => {
    const resolved = (value: unknown): Json[] =>
      objectsOf(value).flatMap((object) => {
        const { $ref } = object;
        return typeof $ref === 'string'
          ? resolved(schemaOf($ref.slice('#/components/schemas/'.length)))
          : [object];
      });
    const arrays = operations
      .flatMap(({ operation }) => resolved(operation['requestBody']))
      .filter(({ type }) => [type].flat().includes('array'));
    expect(arrays).to.have.length.above(10);
    for (const array of arrays) expect(array).to.have.property('maxItems');
  });

  it('has a schema for a type of each body that client generators read', () => {
    const readable = /^(?:application\/(?:json|octet-stream)|text\/\w+)$/;
    const bodies = objectsOf(document).flatMap(({ content }) =>
      content === undefined ? [] : [Object.entries(content as Record<string, Json>)],
    );
    expect(bodies).to.have.length.above(60);
    for (const types of bodies) {
      const schemas = types.filter(([type, media]) => readable.test(type) && media['schema']);
      expect(schemas, JSON.stringify(types)).not.to.be.empty;
    }
  });

  it('has the bounds of each field of a link', () => {
    const { properties, required } = schemaOf('ShortenRequest') as {
      properties: Record<string, Json>;
      required: string[];
    };
    expect(required).to.deep.equal(['url']);
    expect(properties['url']).to.include({ type: 'string', maxLength: 2_048 });
    const pattern = '^[A-Za-z0-9_-]{3,50}$';
    for (const [name, schema] of Object.entries({
      alias: { type: ['string', 'null'], minLength: 3, maxLength: 50, pattern },
      password: { type: ['string', 'null'], minLength: 4, maxLength: 100 },
      expiresIn: { type: ['integer', 'null'], minimum: 60, maximum: 315_360_000 },
      maxClicks: { type: ['integer', 'null'], minimum: 1, maximum: 1_000_000_000 },
    })) {
      expect(properties[name]).to.deep.include(schema);
    }
  });

  const expectPattern = (
    pattern: string,
    taken: readonly string[],
    refused: readonly string[],
  ): void => {
    // As JSON Schema reads patterns.
    const expression = new RegExp(pattern, 'u');
    expect(taken.filter((text) => !expression.test(text))).to.deep.equal([]);
    expect(refused.filter((text) => expression.test(text))).to.deep.equal([]);
  };

  it('has a pattern for URLs that matches valid ones, in any case', () => {
    const { url } = schemaOf('ShortenRequest')['properties'] as { url: { pattern: string } };
    expectPattern(
      url.pattern,
      ['https://example.com', 'HTTP://b\u00fccher.example/\u{1f600}#a'],
      ['ftp://example.com', 'http:///a', 'https://a/\n', 'https:/a', ''],
    );
  });

  it('has patterns for texts that allow white space at both ends', () => {
    const { title } = schemaOf('ShortenRequest')['properties'] as {
      title: { pattern: string };
    };
    const long = '\u{1f511}'.repeat(200);
    expectPattern(
      title.pattern,
      ['', 'a b', ' \n a \t\ufeff\r', `${' '.repeat(300)}${long} `],
      ['a\nb', '\0', 'a\u0085', `${long}a`],
    );
  });

  it('has required properties of a changed link for keys without links:read', () => {
    const { required } = schemaOf('LinkDetails');
    expect(required).to.have.members(['shortCode', 'domain', 'version', 'status']);
  });

  it('has exactly the seven fields of the statistics without a period', () => {
    const { required, additionalProperties } = schemaOf('Stats');
    const fields = [
      ...['shortCode', 'url', 'clickCount', 'createdAt', 'lastAccessed', 'expiresAt', 'maxClicks'],
    ];
    expect(required).to.have.members(fields);
    expect(additionalProperties).to.equal(false);
  });

  it('describes the parameters of statistics', () => {
    const parameters = operations.find(({ operation }) => operation['operationId'] === 'getStats')
      ?.operation['parameters'] as { name: string; schema: Json }[];
    const names = ['include', 'from', 'to', 'interval', 'tz', 'limit'];
    expect(parameters.map(({ name }) => name)).to.deep.equal(names);
    expect(parameters[0]).to.include({ style: 'form', explode: false });
    const limit = { type: 'integer', minimum: 1, maximum: 200, default: 20 };
    expect(parameters[5]?.schema).to.deep.include(limit);
  });

  it('requires no key for health', () => {
    for (const path of ['/health', '/health/ready']) {
      expect(document.paths[path]).to.have.deep.nested.property('get.security', []);
    }
  });
});
