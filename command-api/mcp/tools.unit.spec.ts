import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { v2Table } from '../../schemas/http/routes.js';
import type { RouteRow } from '../../schemas/http/route.js';
import { createTools, type Tool } from './tools.js';

const tools = createTools({ isOwnHost: () => false, schemes: [] });
const names = [
  ...['create_link', 'find_links', 'get_link', 'change_link', 'delete_link'],
  ...['link_statistics', 'account_statistics', 'qr_code', 'usage', 'list_domains'],
];

const toolNamed = (name: string): Tool => {
  const tool = tools.get(name);
  if (!tool) throw new Error(`no tool is named ${name}`);
  return tool;
};

const propertiesOf = (name: string): readonly string[] =>
  Object.keys(toolNamed(name).definition.inputSchema.properties);

const acceptedBy = (schema: object, value: unknown): string => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  return ajv.validate(schema, value) ? '' : ajv.errorsText();
};

describe('MCP: tools', () => {
  it('are the ten tools of the contract in their order, each with title, description and schemas', () => {
    expect([...tools.keys()]).to.deep.equal(names);
    for (const { definition } of tools.values()) {
      expect(definition.title, definition.name).to.match(/^[A-Z]/);
      expect(definition.description, definition.name).to.match(/^[A-Z].*\.$/s);
      for (const schema of [definition.inputSchema, definition.outputSchema]) {
        expect(schema).to.include({
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
        });
        // Clients load no other document.
        expect(JSON.stringify(schema), definition.name).not.to.match(/"(?:\$ref|pattern)":/);
      }
    }
  });

  it('have annotations: only reading is read-only, changing and deleting are destructive', () => {
    const annotated = (hint: 'readOnlyHint' | 'destructiveHint'): readonly string[] =>
      names.filter((name) => toolNamed(name).definition.annotations[hint]);
    const writing = ['create_link', 'change_link', 'delete_link'];
    expect(annotated('readOnlyHint')).to.have.members(
      names.filter((name) => !writing.includes(name)),
    );
    expect(annotated('destructiveHint')).to.deep.equal(['change_link', 'delete_link']);
    for (const { definition } of tools.values()) {
      expect(definition.annotations).to.include({ idempotentHint: true, openWorldHint: false });
    }
  });

  it('have the parameters and fields of their calls', () => {
    expect(propertiesOf('create_link')).to.include.members([
      ...['url', 'alias', 'domain', 'expiresIn', 'tags', 'rules', 'reuse', 'idempotencyKey'],
    ]);
    expect(propertiesOf('change_link')).to.include.members([
      'shortCode',
      'domain',
      'url',
      'disabled',
    ]);
    expect(propertiesOf('get_link')).to.deep.equal(['shortCode', 'domain']);
    expect(propertiesOf('usage')).to.deep.equal([]);
    // Every image is a PNG.
    expect(propertiesOf('qr_code')).to.include('size').and.not.to.include('format');
    const required = names.filter((name) =>
      toolNamed(name).definition.inputSchema.required.includes('shortCode'),
    );
    expect(required).to.deep.equal([
      ...['get_link', 'change_link', 'delete_link', 'link_statistics', 'qr_code'],
    ]);
    expect(toolNamed('create_link').definition.inputSchema.required).to.deep.equal(['url']);
  });

  it('have schemas that accept the examples of the route table', () => {
    let checked = 0;
    for (const [name, operation] of [
      ['create_link', 'shorten'],
      ['find_links', 'listLinks'],
      ['get_link', 'getLink'],
      ['change_link', 'changeLink'],
      ['link_statistics', 'getStats'],
      ['account_statistics', 'getAccountStats'],
      ['usage', 'getUsage'],
      ['list_domains', 'getDomains'],
    ] as const) {
      const { inputSchema, outputSchema } = toolNamed(name).definition;
      const row: RouteRow = v2Table[operation];
      const ofLink = row.route.includes(':shortCode') ? { shortCode: 'spring' } : {};
      for (const body of Object.values(row.examples ?? {})) {
        expect(acceptedBy(inputSchema, { ...ofLink, ...body }), name).to.equal('');
        checked += 1;
      }
      for (const { examples = {} } of Object.values(row.returns)) {
        for (const body of Object.values(examples)) {
          expect(acceptedBy(outputSchema, body), name).to.equal('');
          checked += 1;
        }
      }
    }
    expect(checked).to.be.above(15);
  });

  it('send arguments as path, query, body and Idempotency-Key', () => {
    expect(
      toolNamed('create_link').requestOf({
        url: 'https://a.example',
        domain: null,
        idempotencyKey: 'k',
      }),
    ).to.deep.equal({
      method: 'POST',
      url: '/v2/shorten',
      headers: { accept: '*/*', 'idempotency-key': 'k' },
      body: '{"url":"https://a.example","domain":null}',
    });
    expect(
      toolNamed('change_link').requestOf({ shortCode: 'é/..', domain: 'go.example', title: null }),
    ).to.include({ url: '/v2/links/%C3%A9%2F..?domain=go.example', body: '{"title":null}' });
    expect(
      toolNamed('find_links').requestOf({ tag: ['a', 'b,&'], limit: 5, after: null, other: 1 }).url,
    ).to.equal('/v2/links?tag=a&tag=b%2C%26&limit=5');
    expect(
      toolNamed('qr_code').requestOf({ shortCode: 'a', format: 'svg', size: 200 }).url,
    ).to.equal('/v2/qr/a?size=200');
  });

  it('send wrong values to the API, which refuses them', () => {
    const values = JSON.parse(
      '{"shortCode":{"a":1},"domain":["x"],"__proto__":{"b":2},"constructor":3,"url":[]}',
    ) as Record<string, unknown>;
    expect(toolNamed('change_link').requestOf(values)).to.include({
      url: '/v2/links/%7B%22a%22%3A1%7D?domain=x',
      body: '{"__proto__":{"b":2},"constructor":3,"url":[]}',
    });
    expect(toolNamed('get_link').requestOf({ shortCode: '\ud800' }).url).to.equal(
      '/v2/links/%EF%BF%BD',
    );
    const { headers } = toolNamed('create_link').requestOf({ idempotencyKey: 'a\0b\ud800' });
    expect(headers).to.include({ 'idempotency-key': 'a\ufffdb\ufffd' });
    expect(toolNamed('create_link').requestOf({ idempotencyKey: '' }).headers).to.deep.equal({
      accept: '*/*',
    });
  });
});
