import { expect } from 'chai';
import { runningPostgresUrl } from '../../../local/postgres/index.js';
import { createLogger } from '../../../platform/logging.js';
import { linklogCommand } from '../../../platform/process/own-command.js';
import { createPool } from '../../../platform/postgres/pool.js';
import { productFixture, sharedProduct } from '../../../test/e2e/harness.js';
import { runLinklogCli } from '../../../test/support/command-line.js';
import { fixture } from '../../../test/support/fixture.js';
import {
  asTyped,
  startLinklogCli,
  type CommandOutput,
  type RunningCommand,
} from '../../../test/support/process.js';
import { serversFor, type IssuedKey } from '../../../test/support/product.js';
import { waitUntilProjected } from '../../../test/support/projected.js';

export const unknownId = '01990000-0000-7000-8000-000000000000';
export const unknownPerson = 'usr_01990000000070008000';

/**
 * Runs commands on the shared product, or on a product for the tests of the `describe`.
 *
 * @param environment of an own product
 */
export const onService = (
  which: 'shared' | 'own' = 'shared',
  environment?: Parameters<typeof productFixture>[0],
) => {
  const bench = which === 'own' ? productFixture(environment) : sharedProduct();
  const service = fixture(
    async () => {
      const { dataDir } = bench.product;
      const databaseUrl = await runningPostgresUrl(dataDir);
      if (databaseUrl === null) throw new Error('The embedded PostgreSQL does not run');
      const logger = createLogger('silent');
      const pool = createPool({ url: databaseUrl, name: 'test', max: 4, logger });
      /** The environment of commands. */
      const env: Record<string, string> = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
      return { env, databaseUrl, pool };
    },
    ({ pool }) => pool.end(),
  );

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    runLinklogCli(args, service.env);

  /** Starts a process, for commands that read stdin, stream their output or handle signals. */
  const startLinklog = (args: readonly string[], input = '', env = service.env): RunningCommand =>
    startLinklogCli(args, env, undefined, input);

  const stdoutOf = ({ exitCode, stdout, stderr }: CommandOutput): string => {
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  /** Returns the stdout of a successful command. */
  const text = async (...args: readonly string[]): Promise<string> =>
    stdoutOf(await linklog(...args));

  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await text(...args, '--json'));

  return {
    bench,
    service,
    linklog,
    startLinklog,
    text,
    json,

    /** Like `text`, in another process. */
    processText: async (args: readonly string[], input = ''): Promise<string> =>
      stdoutOf(await startLinklog(args, input).ended),

    createKey: async (plan: string, ...more: readonly string[]): Promise<IssuedKey> =>
      (await json('keys', 'create', '--name', 'a key', '--plan', plan, ...more)) as IssuedKey,

    expectFailure: async (
      args: readonly string[],
      exitCode: number,
      line: string,
    ): Promise<void> => {
      const stderr = `linklog: ${asTyped(line, linklogCommand())}\n`;
      const output = await linklog(...args);
      expect(output, args.join(' ')).to.deep.equal({ exitCode, stdout: '', stderr });
    },

    projected: (): Promise<void> => waitUntilProjected(bench.product.edges),
  };
};
