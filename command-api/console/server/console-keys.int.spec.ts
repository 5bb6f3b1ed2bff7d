import { expect } from 'chai';
import { actor, derivedKey, newKey, type TestKey } from '../../testing/keys.js';
import { createApiKeyHandler } from '../../keys/handler.js';
import { findKeyBySecret, findKeyByToken, createConsoleToken } from './console-keys.js';
import { newToken } from './console-sessions.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: keys that open the console', () => {
  const database = databaseFixture('consolekeys');
  const node = ledgerFixture(database);

  const opens = async ({ hash }: TestKey): Promise<string | null> =>
    (await findKeyBySecret(database.pool, Buffer.from(hash, 'hex')))?.key.id ?? null;

  const tokenOf = async (id: string | null): Promise<string> =>
    (await createConsoleToken(database.pool, id))?.token ?? '';

  it('are active, and so are their roots and secrets', async () => {
    const end = (column: string, owner: string, { id }: TestKey) =>
      database.pool.query(
        `UPDATE ledger.${column} = now() - interval '1 second' WHERE ${owner} = $1`,
        [id],
      );
    const [root, other] = [await newKey(node), await newKey(node)];
    const derived = await derivedKey(node, root);
    expect(await opens(root)).to.equal(root.id);
    expect(await opens(derived)).to.equal(derived.id);
    await end('key_secrets SET ends_at', 'key_id', other);
    expect(await opens(other)).to.equal(null);
    expect(await tokenOf(other.id)).to.equal('');
    const ended = await newKey(node);
    await end('api_keys SET expires_at', 'id', ended);
    expect(await opens(ended)).to.equal(null);
    const revoke = { type: 'RevokeApiKey', data: {} } as const;
    await createApiKeyHandler(node.pool, node.outbox).handle(root.id, revoke, actor);
    expect([await opens(root), await opens(derived)]).to.deep.equal([null, null]);
  });

  it('are the oldest root key by default', async () => {
    await database.pool.query(`UPDATE ledger.api_keys SET status = 'inactive'`);
    const root = await newKey(node);
    const derived = await derivedKey(node, root);
    await newKey(node);
    await database.pool.query(
      `UPDATE ledger.api_keys SET created_at = created_at - interval '1 day' WHERE id = $1`,
      [derived.id],
    );
    expect((await createConsoleToken(database.pool, null))?.key.id).to.equal(root.id);
    expect((await createConsoleToken(database.pool, derived.id))?.key.id).to.equal(derived.id);
  });

  it('open it once by an address, within 10 minutes', async () => {
    const { id } = await newKey(node);
    const update = 'UPDATE ledger.console_addresses SET made_at = now() - $1::interval';
    const age = (by: string): Promise<unknown> => database.pool.query(update, [by]);
    const find = async (token: string, take: boolean): Promise<string | undefined> =>
      (await findKeyByToken(database.pool, token, take))?.key.id;
    const token = await tokenOf(id);
    await age('9 minutes 59 seconds');
    expect(await find(token, false)).to.equal(id);
    expect(await find(token, true)).to.equal(id);
    expect(await find(token, true)).to.equal(undefined);
    const late = await tokenOf(id);
    await age('10 minutes');
    expect([await find(late, false), await find(late, true)]).to.deep.equal([undefined, undefined]);
    expect(await find(newToken(), true)).to.equal(undefined);
    // The next token deletes the expired one.
    await tokenOf(id);
    const { rows } = await database.pool.query('SELECT FROM ledger.console_addresses');
    expect(rows).to.have.length(1);
  });
});
