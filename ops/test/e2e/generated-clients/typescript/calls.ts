/** Calls that every generated TypeScript client makes; prints what they return. */
import { setTimeout } from 'node:timers/promises';
import type { components, operations } from './linklog.js';

type Schemas = components['schemas'];
type Query<Operation extends keyof operations> = NonNullable<
  operations[Operation]['parameters']['query']
>;

/** A generated client. Each call resolves with the body of a successful response. @throws the body of an error */
export interface Client {
  readonly shorten: (
    body: Schemas['ShortenRequest'],
    idempotencyKey: string,
  ) => Promise<Schemas['Link']>;
  readonly shortenBatch: (body: Schemas['BatchRequest']) => Promise<Schemas['BatchResponse']>;
  readonly getLink: (shortCode: string) => Promise<Schemas['LinkDetails']>;
  readonly changeLink: (
    shortCode: string,
    body: Schemas['ChangeLinkRequest'],
    ifMatch: string,
  ) => Promise<Schemas['LinkDetails']>;
  readonly deleteLink: (shortCode: string) => Promise<unknown>;
  readonly listLinks: (query: Query<'listLinks'>) => Promise<Schemas['LinkPage']>;
  readonly getStats: (shortCode: string, query: Query<'getStats'>) => Promise<Schemas['Stats']>;
  readonly getEvents: (query: Query<'getEvents'>) => Promise<Schemas['EventPage']>;
  readonly getQrCode: (shortCode: string) => Promise<Blob>;
  readonly exportLinks: (query: Query<'exportLinks'>) => Promise<Blob>;
  readonly makeKey: (body: Schemas['MakeKeyRequest']) => Promise<Schemas['MadeApiKey']>;
  readonly claimDomain: (body: Schemas['ClaimDomainRequest']) => Promise<Schemas['OwnDomain']>;
  readonly verifyDomain: (domain: string) => Promise<Schemas['OwnDomain']>;
}

const refusal = async (call: Promise<unknown>): Promise<object> => {
  try {
    await call;
  } catch (error) {
    const { statusCode, message, scope, limit } = error as Schemas['Error'];
    return { statusCode, message, scope, limit };
  }
  throw new Error('a call was not refused');
};

/** @param clientOf makes a client of the API with a key */
export const makeCalls = async (
  name: string,
  clientOf: (baseUrl: string, key: string) => Client,
): Promise<void> => {
  const { LINKLOG_URL = '', LINKLOG_KEY = '', LINKLOG_FULL_KEY = '' } = process.env;
  const client = clientOf(LINKLOG_URL, LINKLOG_KEY);
  const tags = [name];

  const request: Schemas['ShortenRequest'] = {
    url: 'https://example.com/',
    alias: name,
    password: 'open sesame',
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    maxClicks: 100,
    title: 'Spring sale',
    note: 'For May',
    tags,
    rules: [
      { name: 'ios', when: { os: ['iOS'] }, url: 'https://example.com/ios' },
      {
        name: 'others',
        when: {},
        split: [
          { name: 'a', url: 'https://example.com/a', weight: 1 },
          { name: 'b', url: 'https://example.com/b', weight: 3 },
        ],
      },
    ],
    forwardQuery: true,
  };
  const link = await client.shorten(request, name);
  const replayed = await client.shorten(request, name);
  const taken = { url: 'https://example.com/2', alias: name };
  const batch = await client.shortenBatch({
    urls: [{ url: 'https://example.com/1', tags }, taken],
  });
  const { shortCode } = link;
  const found = await client.getLink(shortCode);
  const change = { title: null, forwardQuery: false };
  const changed = await client.changeLink(shortCode, change, `"${found.version}"`);
  let page = await client.listLinks({ tag: tags, limit: 1 });
  while (page.next === null) {
    // Lists are up to date within a second.
    await setTimeout(50);
    page = await client.listLinks({ tag: tags, limit: 1 });
  }
  const lastPage = await client.listLinks({ tag: tags, limit: 1, after: page.next });
  const stats = await client.getStats(shortCode, { include: ['countries'] });
  const { from = '', to = '' } = stats.period ?? {};
  const events = await client.getEvents({ types: 'LinkCreated', limit: 1 });
  const qrCode = await client.getQrCode(shortCode);
  const exported = await client.exportLinks({ tag: tags });
  const key = await client.makeKey({ name: 'Reader', scopes: ['links:read'] });
  const domain = `${name}.example.com`;
  await client.claimDomain({ domain });
  const refusals = [
    await refusal(client.getLink('nothing')),
    await refusal(client.verifyDomain(domain)),
    await refusal(client.changeLink(shortCode, change, '"1"')),
    await refusal(client.shorten(taken, name)),
    await refusal(clientOf(LINKLOG_URL, LINKLOG_FULL_KEY).shorten({ url: request.url }, 'full')),
    await refusal(clientOf(LINKLOG_URL, key.key).shorten(request, 'reader')),
  ];
  await client.deleteLink(shortCode);

  console.log(
    JSON.stringify({
      alias: link.alias,
      rules: link.rules?.map((rule) => rule.name),
      forwardQuery: [link.forwardQuery, found.forwardQuery, changed.forwardQuery],
      isReplayed: JSON.stringify(replayed) === JSON.stringify(link),
      batch: batch.results.map(({ success, message = null }) => [success, message]),
      changed: [changed.title, changed.version],
      pages: [page.links.length, lastPage.links.length],
      clicks: stats.clickCount,
      days: Math.floor((Date.parse(to) - Date.parse(from)) / 86_400_000),
      events: events.events.map(({ type }) => type),
      qrCode: Buffer.from(await qrCode.arrayBuffer()).toString('base64'),
      exported: (await exported.text()).trim().split('\n').length,
      scopes: key.scopes,
      refusals,
      status: (await client.getLink(shortCode)).status,
    }),
  );
};
