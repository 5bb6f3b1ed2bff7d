import { expect } from 'chai';
import { insertLinks } from '../../../ops/ledger/links.js';
import { foldedLinks, recordHistory, storedLinks } from '../../../ops/test/support/ledger-links.js';
import { named, type TestNode } from '../../../ops/test/support/node.js';
import { operatorsKeyId } from '../../../schemas/folds/key-meter.js';
import { evolveLedgerLink, initialState } from '../../../schemas/folds/ledger-link.js';
import { created } from '../../../schemas/testing/events.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import type { CreateLink, ShortenOutcome } from './command.js';
import type { BatchItem } from './view.js';
import { admissionsOf } from '../../testing/admission.js';
import { meterOf, newKey, type TestKey } from '../../testing/keys.js';
import { linkToCreate, randomCode, shortenCommand } from '../../testing/links.js';
import { alternate, countTypes, onBoth, waitForLockWaits } from '../../testing/nodes.js';
import type { IdempotencyScope } from '../../admission/idempotency.js';
import { failure } from '../../http/reply.js';
import type { Admission } from '../../admission/admission.js';
import {
  createShortenHandler,
  type ShortenCommand,
  type ShortenHandler,
  type ShortenResult,
} from './handler.js';
import { execute, transaction } from '../../../ops/platform/postgres/pool.js';
import { writeOnly } from '../../../ops/platform/postgres/statement.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';
import { fixture } from '../../../ops/test/support/fixture.js';

describe('command API: shorten handler, on two nodes', () => {
  const database = databaseFixture('shorten');
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;

  const newHandler = (
    { pool, outbox, clock }: TestNode,
    generateCode: () => string = randomCode,
  ): ShortenHandler => createShortenHandler({ pool, outbox, clock, generateCode });

  const handlers = fixture(() => onBoth(nodes, (ledger) => newHandler(ledger)));

  const createdEvents = async () => named('LinkCreated', await node.events('links'));

  const createdEventsOf = async ({ id }: TestKey) =>
    (await createdEvents()).filter(({ data }) => data.keyId === id);

  const monthLinksOf = async (key: TestKey): Promise<number> =>
    (await meterOf(node, key)).month_links;

  afterEach('the tables are the fold of the log, and no code is assigned twice', async () => {
    expect(await storedLinks(node)).to.deep.equal(await foldedLinks(node));
    const codes = (await createdEvents()).map(({ subject }) => subject);
    expect(new Set(codes).size).to.equal(codes.length);
  });

  const alias = (key: TestKey, code: string): CommandRequest<CreateLink> =>
    linkToCreate(key, { code, custom: true });

  const command = (
    key: TestKey,
    links: readonly CommandRequest<CreateLink>[] = [linkToCreate(key)],
    linkLimit: number | null = null,
  ): ShortenCommand => ({ ...shortenCommand(key, []), links, linkLimit });

  const outcomesOf = (result: ShortenResult): readonly ShortenOutcome[] => {
    if (result.type !== 'decided') throw new Error(`shorten() returned ${result.type}`);
    return result.outcomes;
  };

  /** Handles commands concurrently, alternately on the two nodes. */
  const shorten = async (
    ...commands: readonly ShortenCommand[]
  ): Promise<readonly ShortenOutcome[]> => {
    const results = await Promise.all(
      commands.map((request, index) => handlers[index % 2 === 0 ? 0 : 1].shorten(request)),
    );
    return results.flatMap(outcomesOf);
  };

  /** Handles commands in one group. */
  const shortenInGroup = async (
    commands: readonly ShortenCommand[],
    handler: ShortenHandler = handlers[0],
  ): Promise<readonly ShortenOutcome[]> =>
    (await Promise.all(commands.map(handler.shorten))).flatMap(outcomesOf);

  const typesOf = (outcomes: readonly ShortenOutcome[]): readonly string[] =>
    outcomes.map(({ type }) => type);

  const codesOf = (outcomes: readonly ShortenOutcome[]): readonly string[] =>
    outcomes.flatMap((outcome) => (outcome.type === 'created' ? [outcome.event.subject] : []));

  it('assigns an alias to one of 300 concurrent requests', async () => {
    const keys = await Promise.all(Array.from({ length: 3 }, () => newKey(node, 'PRO')));
    const commands = Array.from({ length: 100 }, () =>
      keys.map((key) => command(key, [alias(key, 'contested')], 3_000)),
    );
    const outcomes = await shorten(...commands.flat());
    expect(countTypes(outcomes)).to.deep.equal({ created: 1, aliasTaken: 299 });
    const monthLinks = await Promise.all(keys.map(monthLinksOf));
    expect(monthLinks.sort()).to.deep.equal([0, 0, 1]);
  });

  it('creates exactly the 35 links of FREE for 100 concurrent requests', async () => {
    const key = await newKey(node);
    const commands = Array.from({ length: 100 }, () => command(key, [linkToCreate(key)], 35));
    const outcomes = await shorten(...commands);
    expect(countTypes(outcomes)).to.deep.equal({ created: 35, linksExhausted: 65 });
    expect(await monthLinksOf(key)).to.equal(35);
    expect(await createdEventsOf(key)).to.have.length(35);
    expect(typesOf(await shorten(command(key)))).to.deep.equal(['created']);
  });

  it('spends no quota on refused links of a group', async () => {
    const key = await newKey(node);
    await shorten(command(key, [alias(key, 'mine')]));
    const codes = ['mine', 'first', 'mine', 'first', 'second', 'third'];
    const outcomes = await shortenInGroup(codes.map((code) => command(key, [alias(key, code)], 3)));
    const expected = ['aliasTaken', 'created', 'aliasTaken', 'aliasTaken', 'created'];
    expect(typesOf(outcomes)).to.deep.equal([...expected, 'linksExhausted']);
    expect(await monthLinksOf(key)).to.equal(3);
  });

  it('decides the links of a batch in their order; the first of equal aliases is created', async () => {
    const key = await newKey(node);
    const [first, generated] = [alias(key, 'batch-a'), linkToCreate(key)];
    const others = [alias(key, 'batch-a'), alias(key, 'batch-b'), linkToCreate(key)];
    const outcomes = await shorten(command(key, [first, generated, ...others], 3));
    const expected = ['created', 'created', 'aliasTaken', 'created', 'linksExhausted'];
    expect(typesOf(outcomes)).to.deep.equal(expected);
    expect(codesOf(outcomes)).to.deep.equal(['batch-a', generated.subject, 'batch-b']);
  });

  it('creates links of operators in a group with others, without a quota', async () => {
    const key = await newKey(node);
    const operators = (link: CommandRequest<CreateLink>): ShortenCommand => ({
      ...command(key, [{ ...link, data: { ...link.data, keyId: operatorsKeyId } }]),
      keyHash: null,
    });
    const alone = await shorten(operators(linkToCreate(key)));
    expect(typesOf(alone)).to.deep.equal(['created']);
    const outcomes = await shortenInGroup([
      command(key, [alias(key, 'of-key')], 1),
      operators(alias(key, 'of-operator')),
      operators(alias(key, 'of-key')),
      command(key, [linkToCreate(key)], 1),
    ]);
    expect(typesOf(outcomes)).to.deep.equal(['created', 'created', 'aliasTaken', 'linksExhausted']);
    expect(await monthLinksOf(key)).to.equal(1);
  });

  it('generates codes until one is free', async () => {
    const key = await newKey(node);
    await recordHistory(node, created('used-1'), created('used-2'));
    const codes = ['used-2', 'fresh-1', 'used-1', 'fresh-1', 'fresh-2'];
    const handler = newHandler(node, () => codes.shift() ?? randomCode());
    const commands = ['used-1', 'used-2'].map((code) =>
      command(key, [linkToCreate(key, { code })]),
    );
    const outcomes = await shortenInGroup(commands, handler);
    expect([...codesOf(outcomes)].sort()).to.deep.equal(['fresh-1', 'fresh-2']);
  });

  it('reuses the oldest link without options, after a page of links with options', async () => {
    const key = await newKey(node);
    const url = 'https://example.com/reuse';
    const create = (code: string, options: { readonly title?: string } = {}) =>
      created(code, { url, ...options }, { account: key.account });
    const codes = Array.from({ length: 100 }, (_, index) => `page-1-${index}`);
    const titled = codes.map((code) => create(code, { title: 'x' }));
    await recordHistory(node, ...titled, create('page-2'));
    const [outcome] = await shorten(command(key, [linkToCreate(key, { url, reuse: true })]));
    expect(outcome).to.have.nested.property('link.subject', 'page-2');
  });

  it('reuses a link of the same group', async () => {
    const key = await newKey(node);
    const reuse = command(key, [linkToCreate(key, { url: 'https://a.example/', reuse: true })]);
    expect(typesOf(await shortenInGroup([reuse, reuse]))).to.deep.equal(['created', 'reused']);
  });

  describe('with an Idempotency-Key', () => {
    const bodyHash = Buffer.alloc(32, 7);
    const shortUrlHost = 'http://localhost:8081';
    const idempotent = (request: ShortenCommand, idempotencyKey: string): ShortenCommand => {
      const keyId = request.links[0]?.data.keyId ?? operatorsKeyId;
      const scope: IdempotencyScope = { keyId, path: '/v2/shorten', idempotencyKey };
      return { ...request, idempotency: { scope, bodyHash, form: { type: 'link', shortUrlHost } } };
    };

    it('creates one link for concurrent requests on two nodes, with the same response', async () => {
      const key = await newKey(node);
      for (let round = 0; round < 20; round += 1) {
        const results = await Promise.all(
          handlers.map((handler) => handler.shorten(idempotent(command(key), `round-${round}`))),
        );
        expect(results.map(({ type }) => type).sort()).to.deep.equal(['decided', 'recorded']);
        const codes = results.flatMap((result) =>
          result.type === 'recorded'
            ? [(JSON.parse(result.record.body) as { shortCode: string }).shortCode]
            : codesOf(outcomesOf(result)),
        );
        expect(codes).to.have.length(2);
        expect(codes[0]).to.equal(codes[1]);
      }
      expect(await monthLinksOf(key)).to.equal(20);
    });

    it('stores at most 64 KB, however large the response is', async () => {
      const key = await newKey(node);
      const note = '\u{1F517}'.repeat(2_000);
      const links = Array.from({ length: 49 }, () => linkToCreate(key, { note }));
      const items = Array.from({ length: 50 }, (_, index): BatchItem => {
        const url = 'x'.repeat(2_000);
        const result = { index, success: false, url, statusCode: 400, message: 'Taken' } as const;
        const failures = { domainInactive: result, aliasTaken: result, linksExhausted: result };
        return index === 49 ? { type: 'refused', result } : { type: 'ready', failures };
      });
      const scope = { keyId: key.id, path: '/v2/shorten/batch', idempotencyKey: 'large' };
      const form = { type: 'batch', shortUrlHost, items } as const;
      const request = { ...command(key, links), idempotency: { scope, bodyHash, form } };
      expect(countTypes(await shorten(request))).to.deep.equal({ created: 49 });
      const bytes =
        'SELECT octet_length(response) AS bytes FROM ledger.idempotency WHERE key_id = $1';
      const { rows } = await node.pool.query<{ bytes: number }>(bytes, [key.id]);
      expect(rows[0]?.bytes).to.be.within(1, 65_536);
      expect((await handlers[1].shorten(request)).type).to.equal('recorded');
    });

    it('stores no failure: a retry may succeed', async () => {
      const key = await newKey(node);
      await shorten(command(key, [alias(key, 'not-yours')]));
      const request = idempotent(command(key, [alias(key, 'not-yours')]), 'retry');
      for (let attempt = 0; attempt < 2; attempt += 1) {
        expect(typesOf(await shorten(request))).to.deep.equal(['aliasTaken']);
      }
      const retry = idempotent(command(key, [alias(key, 'yours-then')]), 'retry');
      expect(typesOf(await shorten(retry))).to.deep.equal(['created']);
    });
  });

  it('decides two groups that need each other’s codes after they have lost another code', async () => {
    const keys = await Promise.all([newKey(node), newKey(node), newKey(node), newKey(node)]);
    const [a, b, c, d] = keys;
    const rival = created('zz-contested');
    const ledgerLink = evolveLedgerLink(initialState, rival);
    if (ledgerLink.status === 'none') throw new Error('evolve() returned no link for LinkCreated');
    let groups: Promise<readonly ShortenResult[]> = Promise.resolve([]);
    await transaction(node.pool, async (tx) => {
      // Each group inserts one code and waits for the contested one. When that is lost, the limit of each first key
      // has room for its second link, whose code the other group has inserted.
      await execute(tx, writeOnly(insertLinks([ledgerLink])));
      groups = Promise.all([
        handlers[0].shorten(command(a, [alias(a, 'zz-contested'), alias(a, 'crossed-1')], 1)),
        handlers[0].shorten(command(b, [alias(b, 'crossed-2')])),
        handlers[1].shorten(command(c, [alias(c, 'zz-contested'), alias(c, 'crossed-2')], 1)),
        handlers[1].shorten(command(d, [alias(d, 'crossed-1')])),
      ]);
      await waitForLockWaits(nodes[1], 2);
      await execute(tx, node.outbox.record([rival]));
    });
    const outcomes = (await groups).flatMap(outcomesOf);
    expect(countTypes(outcomes)).to.deep.equal({ created: 2, aliasTaken: 4 });
    expect([...codesOf(outcomes)].sort()).to.deep.equal(['crossed-1', 'crossed-2']);
  });

  it('keeps quotas, without a deadlock, while groups overlap', async () => {
    const clients = 24;
    const sharedLimits = [1, 5, 35, 350, null];
    // With shared keys alone, the lock of the meter would serialise the groups of the two nodes.
    const ownLimits = Array.from({ length: clients }, (_, index) => (index % 3 === 0 ? 350 : null));
    const limits = [...ownLimits, ...sharedLimits];
    const keys = await Promise.all(limits.map(() => newKey(node)));
    const outcomes: ShortenOutcome[] = [];
    const end = performance.now() + 3_000;
    const random = (below: number): number => Math.floor(Math.random() * below);
    // 40 new codes every 5 ms, so that both nodes request codes that are still free.
    const freshCode = (): string => `fresh-${Math.floor(performance.now() / 5)}-${random(40)}`;
    await alternate(handlers, clients, async (handler, client) => {
      while (performance.now() < end) {
        const index = random(20) === 0 ? clients + random(sharedLimits.length) : client;
        const key = keys[index];
        if (!key) throw new Error(`There is no key ${index}`);
        const links = Array.from({ length: random(2) === 0 ? 1 : 10 }, () =>
          random(4) === 0 ? linkToCreate(key) : alias(key, freshCode()),
        );
        const result = await handler.shorten(command(key, links, limits[index] ?? null));
        outcomes.push(...outcomesOf(result));
      }
    });
    const events = await createdEvents();
    let total = 0;
    for (const [index, key] of keys.entries()) {
      const links = events.filter(({ data }) => data.keyId === key.id).length;
      expect(await monthLinksOf(key)).to.equal(links);
      expect(links).to.be.at.most(limits[index] ?? Infinity);
      total += links;
    }
    expect(total).to.equal(countTypes(outcomes)['created'] ?? 0);
  });

  describe('combined with admission', () => {
    /** The code of the next attempt; `null` for a request that is refused after admission. */
    type NextCode = (() => string) | null;
    const refusal = { type: 'refused', reply: failure(400, 'refused') } as const;

    const request = (key: TestKey, nextCode: NextCode = randomCode) => ({
      call: { keyHash: key.hash, metered: true },
      request: { key, nextCode },
    });

    const admittingHandler = (
      { pool, outbox, clock }: TestNode,
      admission: Admission = admissionsOf(nodes)[0],
    ) =>
      createShortenHandler(
        { pool, outbox, clock, generateCode: randomCode },
        {
          admission,
          commandOf: ({ key, nextCode }: { readonly key: TestKey; readonly nextCode: NextCode }) =>
            nextCode
              ? { type: 'read', value: command(key, [linkToCreate(key, { code: nextCode() })]) }
              : refusal,
        },
      );

    it('creates 60 links for 150 concurrent calls on two nodes', async () => {
      const key = await newKey(node);
      const [first, second] = admissionsOf(nodes);
      const combined = [
        admittingHandler(nodes[0], first),
        admittingHandler(nodes[1], second),
      ] as const;
      const results = await alternate(combined, 150, (handler) =>
        handler.admitAndCreate(request(key)),
      );
      expect(results.filter(({ result }) => result?.type === 'decided')).to.have.length(60);
      expect(results.filter(({ result }) => result === null)).to.have.length(90);
      expect(await meterOf(node, key)).to.include({ month_calls: 60, month_links: 60 });
      expect(await createdEventsOf(key)).to.have.length(60);
      expect(first.counts.admitted + second.counts.admitted).to.equal(60);
      expect(first.counts.rateLimited + second.counts.rateLimited).to.equal(90);
    });

    it('spends a call and no link on a request that is refused after admission', async () => {
      const key = await newKey(node);
      const [admission] = admissionsOf(nodes);
      const { result } = await admittingHandler(node, admission).admitAndCreate(request(key, null));
      expect(result).to.equal(refusal);
      expect(await meterOf(node, key)).to.include({ month_calls: 1, month_links: 0 });
      expect(admission.wasAdmittedRecently(key.hash)).to.equal(true);
    });

    it('spends nothing on a request whose statement fails, and creates the links of the others', async () => {
      const key = await newKey(node);
      const [admission] = admissionsOf(nodes);
      const handler = admittingHandler(node, admission);
      // PostgreSQL rejects this character in a text.
      const invalid = request(key, () => 'nul\0');
      const requests = [request(key), invalid, request(key)];
      const results = await Promise.allSettled(requests.map(handler.admitAndCreate));
      const statuses = results.map(({ status }) => status);
      expect(statuses).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
      expect(await meterOf(node, key)).to.include({ month_calls: 2, month_links: 2 });
      expect(admission.counts.admitted).to.equal(2);
    });

    it('counts the call once if a code is taken', async () => {
      const key = await newKey(node);
      await shorten(command(key, [alias(key, 'takenonce')]));
      const codes = ['takenonce', randomCode()];
      const { result } = await admittingHandler(node).admitAndCreate(
        request(key, () => codes.shift() ?? ''),
      );
      if (result?.type !== 'decided') throw new Error(`admitAndCreate() returned ${result?.type}`);
      expect(typesOf(outcomesOf(result))).to.deep.equal(['created']);
      expect(codes).to.deep.equal([]);
      expect(await meterOf(node, key)).to.include({ month_calls: 1, month_links: 2 });
    });
  });
});
