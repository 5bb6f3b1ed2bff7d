import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { noPosition } from '../../ops/event-log/outbox/port.js';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import { evolveApiKey, noKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import { scopeNames, type Scope } from '../../schemas/scopes.js';
import { actor, derivedKey, newKey, setMeter, type TestKey } from '../testing/keys.js';
import { alternate, onBoth } from '../testing/nodes.js';
import { createApiKeyHandler } from './handler.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import { fixture } from '../../ops/test/support/fixture.js';

describe('command API: API-key handler, on two nodes', () => {
  const database = databaseFixture('keys');
  const nodes = twoLedgersFixture(database);
  const handlers = fixture(() =>
    onBoth(nodes, ({ pool, outbox }) => createApiKeyHandler(pool, outbox)),
  );

  const eventsOf = async ({ id }: TestKey): Promise<readonly ApiKeyEvent[]> =>
    (await nodes[0].events('accounts')).filter(({ subject }) => subject === id) as ApiKeyEvent[];

  it('detects whether there are keys, and that a key is unknown', async () => {
    expect(await handlers[0].any()).to.be.false;
    await newKey(nodes[0]);
    expect(await handlers[1].any()).to.be.true;
    expect(await handlers[1].find('no')).to.equal(null);
  });

  it('decides concurrent changes one after the other; the table equals the fold', async () => {
    const key = await newKey(nodes[0]);
    const outcomes = await alternate(handlers, 40, (handler, index) => {
      const data = { name: `name ${index % 7}`, active: index % 3 === 0 };
      const caller = { actor: `operator-${index}`, requestId: `request-${index}` };
      return handler.handle(key.id, { type: 'ChangeApiKey', data }, caller);
    });
    expect(outcomes.every(({ type }) => type === 'done')).to.be.true;
    const events = await eventsOf(key);
    const sequences = events.map(({ sequence }) => sequence);
    expect(sequences).to.deep.equal(events.map((_, index) => index + 1));
    const times = events.map(({ time }) => time);
    expect(times).to.deep.equal([...times].sort());
    const found = await handlers[1].find(key.id);
    expect(found?.state).to.deep.equal(events.reduce(evolveApiKey, noKey));
  });

  it('records the actor and the request; writes no event if nothing changes', async () => {
    const key = await newKey(nodes[0]);
    const pro = { type: 'ChangeApiKey', data: { plan: 'PRO' } } as const;
    const outcomes = [await handlers[0].handle(key.id, pro, actor)];
    outcomes.push(await handlers[1].handle(key.id, pro, { actor: 'other', requestId: 'r-2' }));
    const [changed, unchanged] = outcomes;
    expect(unchanged).to.deep.equal({ ...changed, outboxPosition: noPosition });
    const events = await eventsOf(key);
    expect(events).to.have.length(2);
    expect(events[1]).to.include({
      type: 'linklog.ApiKeyChanged.v4',
      actor: actor.actor,
      correlationid: actor.requestId,
      account: key.account,
    });
  });

  const callerOf = ({ id, account }: TestKey) => ({ id, account, requestId: 'request-1' });

  it('allows exactly 100 live keys per account on two nodes', async () => {
    const root = await newKey(nodes[0]);
    const outcomes = await alternate(handlers, 140, (handler, index) => {
      // Every seventh requests a scope that the root lacks, and does not count.
      const scopes: Scope[] = index % 7 === 0 ? ['qr:read', 'qr:write' as never] : [];
      return handler.derive(callerOf(root), { name: `key ${index}`, scopes, expiresIn: null });
    });
    const done = outcomes.filter(({ type }) => type === 'done');
    const tooMany = outcomes.filter(
      (outcome) => outcome.type === 'refused' && outcome.refusal.type === 'tooManyKeys',
    );
    expect([done.length, tooMany.length]).to.deep.equal([99, 21]);
    expect(
      await handlers[1].listFor({ ...root, scopes: [], rootId: root.id }, 200, null),
    ).to.have.length(100);
  });

  it('passes on only the current scopes of the key, and none after its revocation, on two nodes', async () => {
    const root = await newKey(nodes[0]);
    const parent = await derivedKey(nodes[0], root);
    const scopes: readonly Scope[] = ['links:read', 'qr:read'];
    const change = (had: readonly Scope[]) =>
      handlers[1].handleFor(callerOf(root), parent.id, {
        type: 'ChangeApiKey',
        data: { scopes: [...had, 'keys:manage'] },
      });
    const derive = () =>
      handlers[0].derive(callerOf(parent), { name: 'derived', scopes, expiresIn: null });
    // On a busy machine, all following commands may be decided after the revocation.
    await change(scopes);
    expect(await derive()).to.deep.include({ type: 'done' });
    const revoke = { type: 'RevokeApiKey', data: {} } as const;
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await sleep(index * 2);
        if (index === 38) return handlers[1].handleFor(callerOf(root), parent.id, revoke);
        if (index % 4 === 0) return change(index % 8 === 0 ? ['links:read'] : scopes);
        return derive();
      }),
    );
    // In log order: each key that it created has only scopes that it had itself at that time.
    let state: ApiKeyState = noKey;
    let derivedKeys = 0;
    for (const event of (await nodes[0].events('accounts')) as readonly ApiKeyEvent[]) {
      if (event.subject === parent.id) state = evolveApiKey(state, event);
      else if (event.type === 'linklog.ApiKeyCreated.v3' && event.actor === parent.id) {
        derivedKeys += 1;
        expect(state.status).to.equal('active');
        expect(state.status !== 'none' && state.key.scopes).to.include.members(
          event.data.scopes ?? scopeNames,
        );
      }
    }
    expect(derivedKeys).to.be.above(0);
    expect(state.status).to.equal('revoked');
  });

  it('lists keys page by page in the order of creation', async () => {
    const created: string[] = [];
    for (let index = 0; index < 5; index += 1) created.push((await newKey(nodes[0])).id);
    const ids: string[] = [];
    let after: string | null = null;
    for (;;) {
      const page = await handlers[0].list(2, after);
      expect(page.length).to.be.at.most(2);
      ids.push(...page.map(({ state }) => state.key.id));
      after = page.at(-1)?.state.key.id ?? null;
      if (after === null) break;
    }
    expect(ids.slice(-created.length)).to.deep.equal(created);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('returns the usage of the open minute and the current month only', async () => {
    const key = await newKey(nodes[0]);
    const counts = 'window_calls = 4, month_calls = 5, month_links = 6, month_qr_codes = 7';
    const month = `${new Date().toISOString().slice(0, 7)}-01`;
    const usage = async () => {
      const found = await handlers[0].find(key.id);
      if (!found) throw new Error('find() returned no key');
      return [found.minuteCalls, found.month, found.calls, found.links, found.qrCodes];
    };
    const set = (values: string) => setMeter(nodes[0], key, values);
    await set(`${counts}, window_start = clock_timestamp(), month = '${month}'`);
    expect(await usage()).to.deep.equal([4, month, 5, 6, 7]);
    await set(`window_start = clock_timestamp() - interval '60 s', month = '2026-01-01'`);
    expect(await usage()).to.deep.equal([0, month, 0, 0, 0]);
  });
});
