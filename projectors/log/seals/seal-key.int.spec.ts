import { expect } from 'chai';
import { generateKeyPairSync } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { retireKey } from './seal-store.js';
import { ConfigError } from '../../../ops/platform/process/config-error.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { openSealKey, signerOfProcess } from './seal-key.js';
import { databaseFixture, folderFixture } from '../../../ops/test/support/fixtures.js';

describe('seals: key that seals the log', () => {
  const database = databaseFixture('seal_key', { per: 'test' });
  const dir = folderFixture({ per: 'test' });
  let file: string;

  beforeEach(() => {
    file = path.join(dir.path, 'seal-key.pem');
  });

  const refusal = async (from: string): Promise<string> => {
    try {
      await openSealKey(from, database.pool);
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigError);
      return (error as ConfigError).message;
    }
    throw new Error('The key was taken');
  };

  it('is created by the first process, readable by its user only, and reused', async () => {
    const keys = await Promise.all(
      Array.from({ length: 5 }, () => openSealKey(file, database.pool)),
    );
    const again = await openSealKey(file, database.pool);
    expect(new Set([...keys, again].map(({ keyId }) => keyId)).size).to.equal(1);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
  });

  it('is used by a process that starts while another creates it', async () => {
    const late: Pick<Pool, 'query'> = Object.create(database.pool) as Pool;
    let opened: Promise<unknown> | null = null;
    // The other process creates the file before the first response.
    Object.assign(late, {
      query: async (text: string, values?: unknown[]) => {
        opened ??= openSealKey(file, database.pool);
        await opened;
        return database.pool.query(text, values);
      },
    });
    const { keyId } = await openSealKey(file, late);
    expect(keyId).to.equal((await openSealKey(file, database.pool)).keyId);
  });

  it('must be the same for all projectors until it is retired', async () => {
    const { keyId } = await openSealKey(file, database.pool);
    const other = path.join(dir.path, 'other.pem');
    expect(await refusal(other))
      .to.match(/^SEAL_KEY_FILE .* is not there/)
      .and.to.include(keyId);
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(other, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(await refusal(other))
      .to.match(/^SEAL_KEY_FILE .* does not fit/)
      .and.to.include(keyId);
    expect(await retireKey(database.pool)).to.equal(keyId);
    expect((await openSealKey(other, database.pool)).keyId).not.to.equal(keyId);
    expect(await refusal(file)).to.include('does not fit');
  });

  it('is not required by a process without a configured key', async () => {
    const deps = { client: database.pool, logger: createLogger('silent') };
    const elsewhere = path.join(dir.path, 'elsewhere.pem');
    const first = await signerOfProcess({ named: null, own: file }, deps);
    expect((await openSealKey(file, database.pool)).keyId).to.equal(first?.keyId);
    const second = { named: null, own: elsewhere };
    expect(await signerOfProcess(second, deps)).to.equal(null);
    await writeFile(elsewhere, await readFile(file));
    expect((await signerOfProcess(second, deps))?.keyId).to.equal(first?.keyId);
    expect(await signerOfProcess({ named: null, own: null }, deps)).to.equal(null);
  });

  it('must not be retired', async () => {
    await openSealKey(file, database.pool);
    await retireKey(database.pool);
    expect(await refusal(file)).to.include('was retired');
  });

  it('must be Ed25519 in a readable file', async () => {
    await writeFile(file, 'no key');
    expect(await refusal(file)).to.equal(`SEAL_KEY_FILE ${file} holds no private key in PEM`);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(await refusal(file)).to.include('another kind than Ed25519');
    expect(await refusal(dir.path)).to.include('cannot be read');
    expect(await refusal(path.join(dir.path, 'nowhere', 'key.pem'))).to.include(
      'cannot be written',
    );
    expect(await readFile(file, 'utf8')).to.include('PRIVATE KEY');
  });
});
