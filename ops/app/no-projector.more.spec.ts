import { expect } from 'chai';
import type { HealthResponse } from '../../schemas/http/health.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';
import { sendRequest } from '../test/support/http.js';
import { launch, mainFile } from '../test/support/process.js';
import { startService, type Service } from '../test/support/services.js';
import { eventually, within } from '../test/support/waiting.js';
import path from 'node:path';

describe('product: an installation without projectors', function () {
  this.timeout(180_000);
  const database = databaseFixture('no_projector');
  const folder = folderFixture();
  let api: Service;

  const environment = () => ({
    ...{ DATABASE_URL: database.url, ADMIN_TOKEN: 'a-token-of-an-operator', FIRST_KEY: 'none' },
    SHORT_URL_HOST: 'https://sho.rt',
  });
  before(async () => {
    api = await startService('api', environment());
  });
  after(() => api.stop());

  const report = async () => {
    const response = await sendRequest(`${api.api}/health/ready`);
    expect(response.status).to.equal(200);
    return response.json() as HealthResponse;
  };
  const projectorCount = async (): Promise<string | undefined> => {
    const { text } = await sendRequest(`${api.admin}/metrics`);
    return /^linklog_processes\{service="projectors"\} (\d+)$/m.exec(text)?.[1];
  };
  const isReported = async (): Promise<boolean> =>
    (await report()).dependencies['projectors']?.state === 'down';

  it('reports projectors that end at each start, and serves all requests', async () => {
    // The key that signed is lost: SEAL_KEY_FILE of a projector that has sealed names another, new file.
    const first = await startService('projectors', {
      ...environment(),
      SEAL_KEY_FILE: path.join(folder.path, 'seal-key.pem'),
    });
    await eventually('the projector counts', async () => (await projectorCount()) === '1');
    await eventually('a first seal exists', async () => {
      const { rows } = await database.pool.query('SELECT FROM seals.chains LIMIT 1');
      return rows.length > 0;
    });
    await first.stop();
    const lost = { SEAL_KEY_FILE: path.join(folder.path, 'lost', 'seal-key.pem') };
    const startedAt = performance.now();
    let starts = 0;
    while (!(await isReported())) {
      expect(performance.now() - startedAt).to.be.below(90_000);
      const dataDir = path.join(folder.path, 'data');
      const looping = launch({ ...environment(), ...lost, DATA_DIR: dataDir }, [
        ...[mainFile, 'projectors'],
      ]);
      const { exitCode } = await within(30_000, 'the projector did not end', looping.ended);
      expect(exitCode).to.equal(78);
      starts += 1;
    }
    expect(starts).to.be.above(2);
    expect(await report()).to.deep.include({ status: 'pass' });
    expect((await report()).dependencies['projectors']).to.deep.equal({
      ...{ state: 'down', code: 'NO_PROJECTOR', detail: 'no projector for 30 s' },
    });
    expect(await projectorCount()).to.equal('0');
  });
});
