import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { projectFile } from '../../platform/files/project-file.js';
import { createLink } from '../support/create-links.js';
import { sendRequest } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { startProduct } from '../support/product.js';
import { temporaryDir } from '../support/process.js';

const version = '4.32.5';
const howToInstall =
  `schemathesis is not on PATH: python3 -m venv ~/.venv && ~/.venv/bin/pip install ` +
  `schemathesis==${version} && export PATH="$HOME/.venv/bin:$PATH"`;

interface Fuzzing {
  /** 0 without findings. */
  readonly exitCode: number;
  /** The output of schemathesis; the last lines have the seed. */
  readonly report: string;
  /** Error lines in the log of the product. */
  readonly errors: readonly string[];
}

/** Runs schemathesis, which also writes files to `cwd`. */
const run = async (
  args: readonly string[],
  cwd: string,
): Promise<Pick<Fuzzing, 'exitCode' | 'report'>> => {
  const child = spawn('schemathesis', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let report = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      report += text;
    });
  }
  try {
    const [exitCode] = (await once(child, 'close')) as [number | null];
    return { exitCode: exitCode ?? 1, report };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new Error(howToInstall, { cause });
  }
};

const isError = (line: string): boolean =>
  line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= 50;

/**
 * Starts a product and runs schemathesis on it, with `args` such as `--seed`.
 *
 * @throws if schemathesis is not installed
 */
export const fuzz = async (args: readonly string[] = []): Promise<Fuzzing> => {
  const dir = await temporaryDir();
  // Fails before the product starts.
  await run(['--version'], dir);
  const product = await startProduct({ env: { PLANS_FILE: await generousPlansFile(dir) } });
  try {
    const { key } = await product.createKey({ plan: 'PRO' });
    const authorization = `Bearer ${key}`;
    await createLink(product.api, key, { alias: 'made-before' });
    const domain = 'made.example.com';
    await sendRequest(`${product.admin}/admin/domains`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${product.adminToken}` },
      body: { domain, account: 'default' },
    });
    await createLink(product.api, key, { alias: 'made-before', domain });
    const config = projectFile('ops', 'test', 'fuzz', 'schemathesis.toml');
    const target = [`${product.api}/openapi.json`, '--header', `Authorization: ${authorization}`];
    const outcome = await run(
      ['--config-file', config, 'run', ...target, '--no-color', ...args],
      dir,
    );
    const { stderr } = await product.stop();
    return { ...outcome, errors: stderr.split('\n').filter(isError) };
  } finally {
    await product.cleanup();
    await rm(dir, { recursive: true, force: true });
  }
};
