import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { projectFile } from '../../platform/files/project-file.js';
import { sendRequest } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { startProduct } from '../support/product.js';
import { temporaryDir } from '../support/process.js';

const version = '4.32.5';
const howToInstall =
  `schemathesis is not on PATH: python3 -m venv ~/.venv && ~/.venv/bin/pip install ` +
  `schemathesis==${version} && export PATH="$HOME/.venv/bin:$PATH"`;

export interface Fuzzing {
  /** 0 when nothing was found. */
  readonly exitCode: number;
  /** What schemathesis said; its last lines have the seed. */
  readonly report: string;
  /** What the product logged as errors meanwhile. */
  readonly errors: readonly string[];
}

/** Runs schemathesis to its end. Its folder takes what it writes beside the report. */
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
 * Lets schemathesis loose on a product that is started for it. `args` are its own: `--seed`, say.
 *
 * @throws where schemathesis is not installed
 */
export const fuzz = async (args: readonly string[] = []): Promise<Fuzzing> => {
  const dir = await temporaryDir();
  // Before a product is started in vain.
  await run(['--version'], dir);
  const product = await startProduct({ env: { PLANS_FILE: await generousPlansFile(dir) } });
  try {
    const { key } = await product.createKey({ plan: 'PRO' });
    const authorization = `Bearer ${key}`;
    const made = await sendRequest(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: authorization },
      body: { url: 'https://example.com', alias: 'made-before' },
    });
    if (made.status !== 201) throw new Error(`No link: ${made.status} ${made.text}`);
    const config = projectFile('ops', 'test', 'fuzz', 'schemathesis.toml');
    const target = [`${product.api}/openapi.json`, '--header', `Authorization: ${authorization}`];
    const said = await run(['--config-file', config, 'run', ...target, '--no-color', ...args], dir);
    const { stderr } = await product.stop();
    return { ...said, errors: stderr.split('\n').filter(isError) };
  } finally {
    await product.cleanup();
    await rm(dir, { recursive: true, force: true });
  }
};
