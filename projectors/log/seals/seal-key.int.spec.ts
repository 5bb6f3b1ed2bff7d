import { expect } from 'chai';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { retireKey } from './seal-store.js';
import { ConfigError } from '../../../ops/platform/errors.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { openSealKey, signerOfProcess } from './seal-key.js';
import { rejection } from '../../../ops/test/support/waiting.js';
import { databaseFixture, folderFixture } from '../../../ops/test/support/fixtures.js';

describe('seals: key that seals the log', () => {
  const database = databaseFixture('seal_key', { per: 'test' });
  const dir = folderFixture({ per: 'test' });
  let file: string;

  beforeEach(() => {
    file = path.join(dir.path, 'seal-key.pem');
  });

  const open = (from = file) => openSealKey(from, database.pool);
  const refusal = async (from = file): Promise<string> => {
    const error = await rejection(open(from));
    expect(error).to.be.instanceOf(ConfigError);
    return (error as ConfigError).message;
  };
  const pemOf = ({ privateKey }: { readonly privateKey: KeyObject }) =>
    privateKey.export({ type: 'pkcs8', format: 'pem' });

  it('is created by the first process, readable by its user only, and reused', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => open()));
    const again = await open();
    expect(new Set([...keys, again].map(({ keyId }) => keyId)).size).to.equal(1);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
  });

  it('is used by a process that starts while another creates it', async () => {
    const late: Pick<Pool, 'query'> = Object.create(database.pool) as Pool;
    let opened: Promise<unknown> | null = null;
    // The other process creates the file before the first response.
    Object.assign(late, {
      query: async (text: string, values?: unknown[]) => {
        opened ??= open();
        await opened;
        return database.pool.query(text, values);
      },
    });
    const { keyId } = await openSealKey(file, late);
    expect(keyId).to.equal((await open()).keyId);
  });

  it('must be the same for all projectors until it is retired', async () => {
    const { keyId } = await open();
    const other = path.join(dir.path, 'other.pem');
    expect(await refusal(other))
      .to.match(/^SEAL_KEY_FILE .* is not there/)
      .and.to.include(keyId);
    await writeFile(other, pemOf(generateKeyPairSync('ed25519')));
    expect(await refusal(other))
      .to.match(/^SEAL_KEY_FILE .* does not fit/)
      .and.to.include(keyId);
    expect(await retireKey(database.pool)).to.equal(keyId);
    expect((await open(other)).keyId).not.to.equal(keyId);
    expect(await refusal()).to.include('does not fit');
    await retireKey(database.pool);
    expect(await refusal(other)).to.include('was retired');
  });

  it('is not required by a process without a configured key', async () => {
    const deps = { client: database.pool, logger: createLogger('silent') };
    const elsewhere = path.join(dir.path, 'elsewhere.pem');
    const first = await signerOfProcess({ named: null, own: file }, deps);
    expect((await open()).keyId).to.equal(first?.keyId);
    const second = { named: null, own: elsewhere };
    expect(await signerOfProcess(second, deps)).to.equal(null);
    await writeFile(elsewhere, await readFile(file));
    expect((await signerOfProcess(second, deps))?.keyId).to.equal(first?.keyId);
    expect(await signerOfProcess({ named: null, own: null }, deps)).to.equal(null);
  });

  it('must be Ed25519 in a readable file', async () => {
    await writeFile(file, 'no key');
    expect(await refusal()).to.equal(`SEAL_KEY_FILE ${file} holds no private key in PEM`);
    await writeFile(file, pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })));
    expect(await refusal()).to.include('another kind than Ed25519');
    expect(await refusal(dir.path)).to.include('cannot be read');
    expect(await refusal(path.join(dir.path, 'nowhere', 'key.pem'))).to.include(
      'cannot be written',
    );
    expect(await readFile(file, 'utf8')).to.include('PRIVATE KEY');
  });
});
