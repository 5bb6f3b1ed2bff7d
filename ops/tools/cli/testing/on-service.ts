import { expect } from 'chai';
import { runningPostgresUrl } from '../../../local/postgres/index.js';
import { createLogger } from '../../../platform/logging.js';
import { createPool, type Pool } from '../../../platform/postgres/pool.js';
import { asTyped, startLinklogCli, type CommandOutput } from '../../../test/support/process.js';
import { sendRequest, type HttpResponse } from '../../../test/support/http.js';
import { serversFor, startProduct, type Product } from '../../../test/support/product.js';
import { waitUntilProjected } from '../../../test/support/projected.js';

export interface Key {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly plan: string;
  readonly account: string;
  readonly active: boolean;
}

interface Started {
  readonly product: Product;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string>>;
}

/** Runs commands on a service, which the hooks of the calling suite start and stop. @param settings of the service */
export const onService = (settings: Readonly<Record<string, string>> = {}) => {
  let started: Started | undefined;

  before('start the product', async () => {
    const product = await startProduct({ env: settings });
    const { dataDir } = product;
    const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
    const databaseUrl = await runningPostgresUrl(dataDir);
    if (databaseUrl === null) throw new Error('The embedded PostgreSQL does not run');
    const logger = createLogger('silent');
    const pool = createPool({ url: databaseUrl, name: 'test', max: 4, logger });
    started = { product, databaseUrl, pool, env };
  });

  after('stop the product', async () => {
    try {
      await started?.pool.end();
      await started?.product.stop();
    } finally {
      await started?.product.cleanup();
    }
  });

  const service = (): Started => {
    if (!started) throw new Error('the product runs from `before` to `after`');
    return started;
  };

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(args, service().env).ended;

  /** Returns the stdout of a successful command. */
  const text = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await linklog(...args);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await text(...args, '--json'));

  return {
    service,
    linklog,
    text,
    json,

    createKey: async (plan: string, ...more: readonly string[]): Promise<Key> =>
      (await json('keys', 'create', '--name', 'a key', '--plan', plan, ...more)) as Key,

    expectFailure: async (
      args: readonly string[],
      exitCode: number,
      line: string,
    ): Promise<void> => {
      const said = await linklog(...args);
      const stderr = `linklog: ${asTyped(line)}\n`;
      expect(said, args.join(' ')).to.deep.equal({ exitCode, stdout: '', stderr });
    },

    usage: (key: string): Promise<HttpResponse> =>
      sendRequest(`${service().product.api}/v2/usage`, {
        headers: { Authorization: `Bearer ${key}` },
      }),

    shorten: async (key: string): Promise<string> => {
      const response = await sendRequest(`${service().product.api}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: { url: 'https://example.com/' },
      });
      expect(response.status, response.text).to.equal(201);
      return (response.json() as { shortCode: string }).shortCode;
    },

    visit: async (code: string): Promise<void> => {
      expect((await sendRequest(`${service().product.edge}/${code}`)).status).to.equal(302);
    },

    projected: (): Promise<void> => waitUntilProjected(service().product.edges),
  };
};
