import { expect } from 'chai';
import { asyncApiDocument } from './asyncapi/document.js';
import { openApiDocument, operatorsDocument } from './openapi/document.js';

type Json = Readonly<Record<string, unknown>>;

interface Part {
  readonly at: string;
  readonly json: Json;
}

/** All objects of a document with their paths, without examples. */
const partsOf = (value: unknown, at = ''): readonly Part[] => {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value)
    .filter(([name]) => !['example', 'examples', 'default'].includes(name))
    .flatMap(([name, part]) => partsOf(part, `${at}/${name.replaceAll('/', '~1')}`));
  return Array.isArray(value) ? inner : [{ at, json: value as Json }, ...inner];
};

const isSchema = ({ at }: Part): boolean =>
  /\/(?:schema|items|payload|additionalProperties|properties\/[^/]+|components\/schemas\/[^/]+|(?:one|any|all)Of\/\d+)$/.test(
    at,
  );

const isNamed = ({ at }: Part): boolean => /^\/components\/schemas\/[^/]+$/.test(at);

const propertiesOf = (parts: readonly Part[]): readonly Part[] =>
  parts.filter(({ at }) => /^\/components\/schemas\/[^/]+\/properties\/[^/]+$/.test(at));

const isDescribed = ({ description = '' }: Json): boolean => description !== '';

const isReference = ({ $ref }: Json): boolean => typeof $ref === 'string';

const read = (document: object): Json => JSON.parse(JSON.stringify(document)) as Json;

const asyncApi = partsOf(read(asyncApiDocument()));
const openApi = partsOf(read(openApiDocument()));

const pathsOf = (parts: readonly Part[]): readonly string[] => parts.map(({ at }) => at);

for (const [name, parts] of [
  ['OpenAPI', openApi],
  ['AsyncAPI', asyncApi],
] as const) {
  const schemas = parts.filter(isSchema);

  describe(`command API: rules of the ${name} document`, () => {
    it('has no union but nullable references and one named union', () => {
      const unions = parts.filter(({ json }) => 'anyOf' in json || 'oneOf' in json);
      const others = unions.filter(({ json }) => {
        const [first, second, ...more] = (json['oneOf'] ?? []) as readonly Json[];
        const isNullable = first && isReference(first) && second?.['type'] === 'null';
        return 'anyOf' in json || !isNullable || more.length > 0;
      });
      // Its members have the const `type` that distinguishes them.
      const expected = name === 'AsyncAPI' ? ['/components/schemas/FeedEvent'] : [];
      expect(pathsOf(others)).to.deep.equal(expected);
    });

    it('lists null in each nullable enum', () => {
      const nullable = schemas.filter(
        ({ json }) => Array.isArray(json['enum']) && [json['type']].flat().includes('null'),
      );
      const others = nullable.filter(({ json }) => !(json['enum'] as unknown[]).includes(null));
      expect(pathsOf(others)).to.deep.equal([]);
    });

    it('has no inline object in a schema, and no repeated inline enum', () => {
      const inline = schemas.filter((part) => !isNamed(part) && !part.at.includes('/bindings/'));
      // A message is a CloudEvent with the type and data of the event.
      const isMessage = ({ at }: Part): boolean =>
        /^\/components\/messages\/[^/]+\/payload/.test(at);
      const objects = inline.filter((part) => 'properties' in part.json && !isMessage(part));
      expect(pathsOf(objects)).to.deep.equal([]);
      const enums = inline.flatMap(({ json }) => ('enum' in json ? [String(json['enum'])] : []));
      expect(enums).to.deep.equal([...new Set(enums)]);
    });

    it('has no empty schema', () => {
      const empty = schemas.filter(
        ({ at, json }) => !at.endsWith('/additionalProperties') && Object.keys(json).length === 0,
      );
      expect(pathsOf(empty)).to.deep.equal([]);
    });

    it('has neither a pattern nor a const that clients compare with a value that is no text', () => {
      const typed = ['date', 'date-time', 'uuid'];
      const wrong = schemas.filter(
        ({ json }) =>
          ('pattern' in json && typed.includes(String(json['format']))) ||
          ('const' in json && typeof json['const'] !== 'string'),
      );
      expect(pathsOf(wrong)).to.deep.equal([]);
    });

    it('describes nine of ten properties of components', () => {
      const properties = propertiesOf(parts);
      const others = properties.filter(({ json }) => !isDescribed(json));
      expect(properties).to.have.length.above(200);
      expect(others.length, pathsOf(others).join(' ')).to.be.at.most(properties.length / 10);
    });

    it('has the format date-time for each instant', () => {
      const names =
        /\/(?:\w+At|at|lastAccessed|time|timestamp|since|minute|start|from|to|after|before)$/;
      const instants = propertiesOf(parts).filter(({ at }) => names.test(at));
      const others = instants.filter(({ json }) => json['format'] !== 'date-time');
      const expected = ['WeeklyWindow/properties/from', 'WeeklyWindow/properties/to'];
      if (name === 'OpenAPI') expected.unshift('ReplayRequest/properties/after');
      expect(pathsOf(others)).to.have.members(expected.map((at) => `/components/schemas/${at}`));
    });

    it('names no component like one of its properties', () => {
      const same = schemas.filter(isNamed).filter(({ at, json }) => {
        const own = (at.split('/').at(-1) ?? '').toLowerCase();
        const names = Object.keys(json['properties'] ?? {});
        return names.some((property) => property.toLowerCase() === own);
      });
      // The contract names this one.
      expect(pathsOf(same)).to.deep.equal(name === 'OpenAPI' ? ['/components/schemas/Error'] : []);
    });
  });
}

for (const [name, parts, kinds] of [
  ['OpenAPI', openApi, 'schemas|headers|responses'],
  ['operators’', partsOf(read(operatorsDocument())), 'schemas|headers|responses'],
  ['AsyncAPI', asyncApi, 'schemas|messages|messageTraits|securitySchemes'],
] as const) {
  describe(`command API: components of the ${name} document`, () => {
    it('are exactly the referenced ones', () => {
      const references = parts.flatMap(({ json: { $ref } }) =>
        typeof $ref === 'string' ? [$ref.split('/').slice(0, 4).join('/')] : [],
      );
      const isComponent = new RegExp(`^/components/(?:${kinds})/[^/]+$`);
      const components = pathsOf(parts).filter((at) => isComponent.test(at));
      expect(
        [...new Set(references)].filter((at) => at.startsWith('#/components/')),
      ).to.have.members(components.map((at) => `#${at}`));
    });
  });
}

describe('command API: rules of the operations in the OpenAPI document', () => {
  it('return events as clients see them, although the AsyncAPI document was made first', () => {
    const sequence = openApi.find(({ at }) => at.endsWith('/CloudEvent/properties/sequence'));
    expect(sequence?.json).to.include({ type: 'string' });
  });

  it('reference the schema of each JSON body', () => {
    const bodies = openApi.filter(({ at }) => at.endsWith('/content/application~1json/schema'));
    expect(bodies).to.have.length.above(60);
    expect(pathsOf(bodies.filter(({ json }) => !isReference(json)))).to.deep.equal([]);
  });

  const operations = openApi.filter(({ json }) => 'operationId' in json && 'responses' in json);

  it('are described, with their tags and parameters', () => {
    const others = operations.filter(
      ({ json }) => !isDescribed(json) || json['description'] === json['summary'],
    );
    expect(pathsOf(others)).to.deep.equal([]);
    const { tags } = openApiDocument();
    const described = tags.filter(isDescribed).map((tag) => tag.name);
    const tagsOf = ({ json }: Part): readonly unknown[] => json['tags'] as readonly unknown[];
    expect(described).to.have.members([...new Set(operations.flatMap(tagsOf))]);
    const parameters = openApi.filter(({ json }) => 'in' in json && 'schema' in json);
    expect(parameters).to.have.length.above(60);
    const unknown = parameters.filter(({ json }) => !isDescribed(json));
    expect(unknown.map(({ at, json }) => `${at} ${String(json['name'])}`)).to.deep.equal([]);
  });

  it('have one schema of a success', () => {
    for (const { at, json } of operations) {
      const successes = Object.entries(json['responses'] as Json).filter(([status]) =>
        status.startsWith('2'),
      );
      const types = successes.map(([, response]) => (response as Json)['content'] ?? {});
      const contents = partsOf(Object.fromEntries(types.entries())).filter((part) =>
        part.at.endsWith('/schema'),
      );
      const schemas = contents.map((part) => JSON.stringify(part.json));
      expect(new Set(schemas).size, at).to.be.at.most(1);
    }
  });

  it('describe errors with one component', () => {
    const errors = openApi.filter(({ at }) =>
      /\/(?:components\/responses\/\w+|responses\/4\d\d)\/content\/application~1json\/schema$/.test(
        at,
      ),
    );
    expect(errors).to.have.length.above(10);
    for (const { at, json } of errors) {
      expect(json, at).to.deep.equal({ $ref: '#/components/schemas/Error' });
    }
  });

  it('have bytes as files, in every media type', () => {
    const files = openApi.filter(({ at }) =>
      /\/(?:image~1[\w+]+|application~1(?:octet-stream|x-ndjson)|text~1plain)$/.test(at),
    );
    expect(files).to.have.length.above(5);
    for (const { at, json } of files) {
      expect(json['schema'], at).to.deep.equal({ type: 'string', format: 'binary' });
    }
  });

  it('have parameters of the path first, and no X-Request-Id', () => {
    const lists = openApi.flatMap(({ at, json }) =>
      Array.isArray(json['parameters'])
        ? [{ at, list: json['parameters'] as readonly Json[] }]
        : [],
    );
    for (const { at, list } of lists) {
      const kinds = list.map((parameter) => parameter['in']);
      const inPath = kinds.filter((kind) => kind === 'path');
      expect(kinds.slice(0, inPath.length), at).to.deep.equal(inPath);
      expect(list.map((parameter) => parameter['name'])).not.to.include('X-Request-Id');
    }
  });

  it('have a schema for a type of each body that client generators read', () => {
    const readable = /^(?:application\/(?:json|octet-stream)|text\/\w+)$/;
    // A schema can have a property with this name.
    const bodies = openApi.filter(
      ({ at, json }) => 'content' in json && !at.endsWith('/properties'),
    );
    expect(bodies).to.have.length.above(60);
    for (const { at, json } of bodies) {
      const schemas = Object.entries(json['content'] as Readonly<Record<string, Json>>).filter(
        ([type, media]) => readable.test(type) && media['schema'],
      );
      expect(schemas, at).not.to.be.empty;
    }
  });

  it('bound each array of a request', () => {
    const resolved = (value: unknown): readonly Json[] =>
      partsOf(value).flatMap(({ json }) =>
        typeof json['$ref'] === 'string' ? resolved(componentOf(json['$ref'])) : [json],
      );
    const arrays = operations
      .flatMap(({ json }) => resolved(json['requestBody']))
      .filter(({ type }) => [type].flat().includes('array'));
    expect(arrays).to.have.length.above(10);
    for (const array of arrays) expect(array).to.have.property('maxItems');
  });

  it('need no key for health', () => {
    for (const path of ['health', 'health~1ready']) {
      const operation = openApi.find(({ at }) => at === `/paths/~1${path}/get`);
      expect(operation?.json['security'], path).to.deep.equal([]);
    }
  });
});

const componentOf = (reference: string): Json =>
  openApi.find(({ at }) => `#${at}` === reference)?.json ?? {};

const schemaOf = (name: string) =>
  componentOf(`#/components/schemas/${name}`) as {
    readonly properties: Readonly<Record<string, Json>>;
    readonly required: readonly string[];
    readonly additionalProperties?: boolean;
  };

describe('command API: schemas of the OpenAPI document', () => {
  it('have the bounds of each field of a link', () => {
    const { properties, required } = schemaOf('ShortenRequest');
    expect(required).to.deep.equal(['url']);
    const pattern = '^[A-Za-z0-9_-]{3,50}$';
    for (const [name, schema] of Object.entries({
      url: { type: 'string', maxLength: 2_048 },
      alias: { type: ['string', 'null'], minLength: 3, maxLength: 50, pattern },
      password: { type: ['string', 'null'], minLength: 4, maxLength: 100 },
      expiresIn: { type: ['integer', 'null'], minimum: 60, maximum: 315_360_000 },
      maxClicks: { type: ['integer', 'null'], minimum: 1, maximum: 1_000_000_000 },
    })) {
      expect(properties[name]).to.deep.include(schema);
    }
  });

  it('have patterns for URLs in any case, and for texts with white space at both ends', () => {
    const long = '\u{1f511}'.repeat(200);
    for (const [field, taken, refused] of [
      [
        'url',
        ['https://example.com', 'HTTP://b\u00fccher.example/\u{1f600}#a'],
        ['ftp://example.com', 'http:///a', 'https://a/\n', 'https:/a', ''],
      ],
      [
        'title',
        ['', 'a b', ' \n a \t\ufeff\r', `${' '.repeat(300)}${long} `],
        ['a\nb', '\0', 'a\u0085', `${long}a`],
      ],
    ] as const) {
      // As JSON Schema reads patterns.
      const pattern = schemaOf('ShortenRequest').properties[field]?.['pattern'] as string;
      const expression = new RegExp(pattern, 'u');
      expect(taken.filter((text) => !expression.test(text))).to.deep.equal([]);
      expect(refused.filter((text) => expression.test(text))).to.deep.equal([]);
    }
  });

  it('require few properties of a changed link, and exactly seven of statistics', () => {
    // Keys without links:read get no others.
    const ofChanged = ['shortCode', 'domain', 'version', 'status'];
    expect(schemaOf('LinkDetails').required).to.have.members(ofChanged);
    const { required, additionalProperties } = schemaOf('Stats');
    const fields = ['url', 'clickCount', 'createdAt', 'lastAccessed', 'expiresAt', 'maxClicks'];
    expect(required).to.have.members(['shortCode', ...fields]);
    expect(additionalProperties).to.equal(false);
  });
});
