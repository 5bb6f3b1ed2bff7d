import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { Linklog } from '../../clients/typescript/src/index.js';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { blocksIn } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { sharedProduct } from './harness.js';

const exec = promisify(execFile);
const clientFolder = projectFile('ops', 'clients', 'typescript');
const nodeModules = projectFile('node_modules');

/** Runs a program. @throws with its output, which has the errors of compilers */
const run = async (
  cwd: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> => {
  try {
    const options = { cwd, env: { ...inheritedEnvironment(), ...env } };
    return (await exec(command, [...args], options)).stdout;
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
    throw new Error(`${command} failed: ${stdout}${stderr}`, { cause });
  }
};

const tool = (name: string): string => path.join(nodeModules, '.bin', name);

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Uses every group without names of the DOM or of Node. */
const strictProgram = `
import { Linklog, LinklogError, NotFoundError, verifyWebhook, type CloudEvent, type Schemas } from '@linklog/client';

const client = new Linklog({ key: 'll_a', baseUrl: 'http://127.0.0.1', timeoutMs: 1, maxRetries: 0 });
export const link: Promise<Schemas['Link']> = client.links.create(
  { url: 'https://example.com/', tags: ['a'] },
  { idempotencyKey: 'a', timeoutMs: 5 },
);
export const calls = async (): Promise<unknown> => {
  for await (const { shortCode, clickCount } of client.links.list({ tag: ['a'], limit: 5 })) {
    const code: string = shortCode;
    const clicks: number | undefined = clickCount;
    await client.links.change(code, { title: null, maxClicks: clicks ?? 1 }, { ifMatch: 1 });
  }
  for await (const { next } of client.links.list().pages()) if (next === null) break;
  for await (const { code } of client.links.export({ status: 'active' })) code.trim();
  const stream = client.events.stream({ after: 'start', types: ['LinkCreated'] });
  for await (const event of stream) {
    const found: CloudEvent = event;
    const cursor: string | null = stream.cursor;
    if (found.id === cursor) break;
  }
  const bytes: Uint8Array = await client.qr.get('a');
  const events: CloudEvent[] = await verifyWebhook(bytes, { 'webhook-id': 'a' }, ['whsec_a']);
  await client.keys.create({ name: 'a' }).catch((error: unknown) => {
    if (error instanceof NotFoundError) return error.requestId;
    if (error instanceof LinklogError) return error.status;
    throw error;
  });
  // @ts-expect-error: no such field
  await client.links.create({ link: 'https://example.com/' });
  // @ts-expect-error: no such parameter
  client.links.list({ tags: ['a'] });
  return events;
};
`;

/** The standard functions and objects of Node, the DOM library and browsers. */
const standardProgram = `
import { Linklog, verifyWebhook } from '@linklog/client';

const { signal } = new AbortController();
const client = new Linklog({ key: 'll_a', baseUrl: 'http://127.0.0.1', fetch: globalThis.fetch });
export const own = new Linklog({
  ...{ key: 'll_a', baseUrl: 'http://127.0.0.1' },
  fetch: async (url, request) => fetch(url, { method: request.method, headers: request.headers }),
});
export const calls = async (): Promise<unknown> => {
  await client.usage.get({ signal: AbortSignal.any([signal, AbortSignal.timeout(5)]) });
  await client.imports.start(new Blob(['url']));
  await client.imports.start(new Response('url').body ?? '');
  return verifyWebhook('', new Headers(), 'whsec_a');
};
`;

const nodeProgram = `
import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Linklog, verifyWebhook } from '@linklog/client';

export const verify = ({ headers }: IncomingMessage, body: Buffer) => verifyWebhook(body, headers, 'a');
export const start = (client: Linklog) => client.imports.start(createReadStream('a'));
`;

const compilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{ skipLibCheck: false, noEmit: true, target: 'es2022' },
};

/** TypeScript 6, and 7 in Go; with the resolution of Node and of bundlers. */
const compilers = [
  {
    command: process.execPath,
    args: [path.join(nodeModules, 'typescript', 'lib', 'tsc.js')],
    resolution: { module: 'nodenext' },
  },
  {
    ...{ command: tool('tsc'), args: [] },
    resolution: { module: 'esnext', moduleResolution: 'bundler' },
  },
];

describe('client: the package of npm pack', function () {
  this.timeout(120_000);
  const bench = sharedProduct();
  const dir = folderFixture();

  const packed = fixture(async () => {
    const args = ['pack', '--json', '--pack-destination', dir.path];
    const [report] = JSON.parse(await run(clientFolder, 'npm', args)) as [Packed];
    return { ...report, tarball: path.join(dir.path, report.filename) };
  });

  /** An empty project with the installed package. */
  const projectOf = async (name: string): Promise<string> => {
    const project = path.join(dir.path, name);
    const installed = path.join(project, 'node_modules', '@linklog', 'client');
    await mkdir(installed, { recursive: true });
    await run(installed, 'tar', ['-xzf', packed.tarball, '--strip-components', '1']);
    await writeFile(path.join(project, 'package.json'), JSON.stringify({ type: 'module' }));
    return project;
  };

  const compile = async (
    project: string,
    options: Readonly<Record<string, unknown>>,
    used = compilers,
  ): Promise<void> => {
    for (const { command, args, resolution } of used) {
      const config = {
        compilerOptions: { ...compilerOptions, ...resolution, ...options },
        files: ['program.ts'],
      };
      await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify(config));
      await run(project, command, args);
    }
  };

  it('has only the build output, in less than 50 KB', () => {
    const names = packed.files.map((file) => file.path).sort();
    const modules = readdirSync(path.join(clientFolder, 'src'))
      .filter((name) => !name.endsWith('.spec.ts'))
      .map((name) => name.replace(/\.ts$/, ''));
    const built = [...modules, 'operations'].flatMap((name) => [
      ...[`dist/${name}.d.ts`, `dist/${name}.js`],
    ]);
    expect(names).to.deep.equal(['README.md', 'dist/LICENSE', ...built, 'package.json'].sort());
    expect(packed.size).to.be.below(50_000);
  });

  it('has at most 900 lines by hand', () => {
    const folder = path.join(clientFolder, 'src');
    const lines = readdirSync(folder)
      .filter((name) => !name.endsWith('.spec.ts'))
      .map((name) => readFileSync(path.join(folder, name), 'utf8').split('\n').length - 1);
    expect(lines.reduce((sum, count) => sum + count, 0)).to.be.at.most(900);
    expect(Math.max(...lines)).to.be.at.most(300);
  });

  it('is accepted by publint and by "Are the types wrong?"', async () => {
    const { publint } = await import('publint');
    const { messages } = await publint({
      pkgDir: path.join(await projectOf('linted'), 'node_modules', '@linklog', 'client'),
      strict: true,
    });
    expect(messages).to.deep.equal([]);
    await run(dir.path, tool('attw'), [packed.tarball, '--profile', 'esm-only']);
  });

  it('compiles strictly without DOM, without @types/node, and with skipLibCheck: false', async () => {
    const project = await projectOf('strict');
    await writeFile(path.join(project, 'program.ts'), strictProgram);
    await compile(project, { lib: ['es2022'], types: [] });
  });

  it('accepts the functions and objects of the DOM library and of Node', async () => {
    const project = await projectOf('standard');
    // The declarations of the DOM and of Node themselves take half a minute.
    const fast = compilers.slice(1);
    await writeFile(path.join(project, 'program.ts'), standardProgram);
    await compile(project, { lib: ['es2022', 'dom'], types: [], skipLibCheck: true }, fast);
    const types = path.join(project, 'node_modules', '@types');
    await mkdir(types);
    await symlink(path.join(nodeModules, '@types', 'node'), path.join(types, 'node'));
    // Of the declarations of Node.
    const undici = path.join(nodeModules, 'undici-types');
    await symlink(undici, path.join(project, 'node_modules', 'undici-types'));
    await compile(project, { lib: ['es2023'], types: ['node'], skipLibCheck: true }, fast);
    await writeFile(path.join(project, 'program.ts'), nodeProgram);
    await compile(project, { lib: ['es2023'], types: ['node'], skipLibCheck: true }, fast);
  });

  it('runs the examples of its README', async () => {
    const project = await projectOf('examples');
    const installed = path.join(project, 'node_modules', '@linklog', 'client');
    const readme = await readFile(path.join(installed, 'README.md'), 'utf8');
    const { key } = await bench.key('PRO', { account: 'client-examples' });
    const client = new Linklog({ key, baseUrl: bench.product.api });

    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    listener.close();
    await once(listener, 'close');
    const webhook = await client.webhooks.create({ url: `http://127.0.0.1:${port}/` });

    const end = `
const { WEBHOOK_ID = '' } = process.env;
const { delivered } = await client.webhooks.test(WEBHOOK_ID);
const unsigned = await fetch(\`http://127.0.0.1:\${PORT}/\`, { method: 'POST', body: '{}' });
receiver.close();
console.log(JSON.stringify({ delivered, unsigned: unsigned.status, shortCode: link.shortCode }));
`;
    await writeFile(path.join(project, 'program.ts'), [...blocksIn(readme, 'ts'), end].join('\n'));
    await writeFile(
      path.join(project, 'links.csv'),
      'code,url\nfrom-readme,https://example.com/\n',
    );
    await cp(
      path.join(nodeModules, '@types', 'node'),
      path.join(project, 'node_modules/@types/node'),
      {
        recursive: true,
      },
    );
    const args = ['--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    await run(project, tool('tsc'), [...args, '--types', 'node', 'program.ts']);
    const output = await run(project, process.execPath, ['program.js'], {
      ...{ LINKLOG_URL: bench.product.api, LINKLOG_KEY: key, PORT: String(port) },
      ...{ WEBHOOK_SECRET: webhook.secret, WEBHOOK_ID: webhook.id },
    });
    const json = output.split('\n').find((line) => line.startsWith('{'));
    const printed = JSON.parse(json ?? '') as { readonly shortCode: string };
    expect(printed).to.include({ delivered: true, unsigned: 400 });
    expect(await client.links.get(printed.shortCode)).to.include({ title: 'Spring sale' });
    expect(output).to.include('linklog.LinkCreated').and.to.include('linklog.WebhookTested.v1');
    const png = await readFile(path.join(project, 'qr.png'));
    expect(png.toString('latin1', 1, 4)).to.equal('PNG');
  });
});
