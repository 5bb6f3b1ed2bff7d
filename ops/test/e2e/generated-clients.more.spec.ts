import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { messages } from '../../../schemas/http/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import { codeIn } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { needs } from '../support/needs.js';
import { keyFixture, sharedProduct } from './harness.js';

const exec = promisify(execFile);

/** Runs a program in a folder. @throws with its output, which has the errors of compilers */
const run = async (
  cwd: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  try {
    return await exec(command, [...args], { cwd, env: { ...process.env, ...env } });
  } catch (cause) {
    const { stdout, stderr } = cause as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command} failed: ${stdout ?? ''}${stderr ?? ''}`, { cause });
  }
};

const nodeModules = projectFile('node_modules');

/** What the programs of clients.md print. */
interface Printed {
  readonly shortCode: string;
  readonly version: number;
  readonly titles: readonly string[];
  readonly count: number;
  readonly clicks: number;
  /** Base64 */
  readonly qrCode: string;
}

/** What the programs of generated-clients/ print. */
const expectedCalls = {
  rules: ['ios', 'others'],
  forwardQuery: [true, true, false],
  isReplayed: true,
  batch: [
    [true, null],
    [false, 'Alias is already taken'],
  ],
  changed: [null, 3],
  pages: [1, 1],
  clicks: 0,
  days: 30,
  events: ['linklog.LinkCreated.v4'],
  exported: 2,
  scopes: ['links:read'],
  refusals: [
    { statusCode: 404, message: messages.codeNotFound },
    { statusCode: 409, message: messages.domainUnverified },
    { statusCode: 412, message: messages.linkChanged },
    { statusCode: 422, message: messages.idempotencyMismatch },
    { statusCode: 429, message: messages.linksExhausted, limit: 35 },
    {
      statusCode: 403,
      message: 'This key lacks the scope links:create.',
      scope: 'links:create',
    },
  ],
  status: 'deleted',
};

interface RedoclyProblem {
  readonly ruleId: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** Spectral does not know the scopes of bearer tokens, which OpenAPI 3.1 added. */
const spectralRules = `extends: ['spectral:oas']
rules:
  oas3-operation-security-defined: off
`;

const options = [
  ...['--target', 'es2023', '--types', 'node', '--strict'],
  // Without it, the check of the declarations of Node takes seconds.
  '--skipLibCheck',
];

describe('command API: clients generated from GET /openapi.json', function () {
  // The compiler of Java takes 10 s alone.
  this.timeout(300_000);
  const bench = sharedProduct();
  const dir = folderFixture();
  const key = keyFixture(bench, 'PRO');
  const programs = projectFile('ops', 'test', 'e2e', 'generated-clients');

  /** An API of a later version: its JSON has a property that the generated clients do not know. */
  const laterApi = fixture(
    async () => {
      const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        const { method = 'GET', url = '/' } = request;
        const headers = request.headers as Record<string, string>;
        const sent = 'content-length' in headers ? { body: await buffer(request) } : {};
        const answer = await sendRequest(bench.product.api + url, { method, headers, ...sent });
        const isJson = answer.headers['content-type']?.startsWith('application/json') ?? false;
        const body = isJson
          ? Buffer.from(answer.text.replace(/^\{/, '{"addedLater":{"list":[1]},'))
          : answer.bytes;
        const received = Object.entries(answer.headers).filter(
          ([name]) => !['content-length', 'transfer-encoding'].includes(name),
        );
        response.writeHead(answer.status, Object.fromEntries(received));
        response.end(body);
      };
      const server = createServer((request, response) => void forward(request, response));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return { server, url: `http://127.0.0.1:${String(port)}` };
    },
    ({ server }) => {
      server.closeAllConnections();
      server.close();
    },
  );

  /** A key that has used its links of the month. */
  const fullKey = fixture(async () => {
    const { key: full } = await bench.key('FREE');
    const urls = Array.from({ length: 35 }, () => ({ url: 'https://example.com/' }));
    await bench.api('/v2/shorten/batch', full, { method: 'POST', body: { urls } });
    return { key: full };
  });

  /** @returns the folder with the client */
  const generate = async (language: string, ...more: readonly string[]): Promise<string> => {
    const [generator = ''] = jars('openapi-generator');
    await run(dir.path, 'java', [
      ...['-jar', generator, 'generate', '--input-spec', `${bench.product.api}/openapi.json`],
      ...['--generator-name', language, '--output', language, ...more],
    ]);
    return path.join(dir.path, language);
  };

  const jars = (prefix = ''): readonly string[] =>
    readdirSync(projectFile('.openapi-generator'))
      .filter((name) => name.startsWith(prefix))
      .map((name) => projectFile('.openapi-generator', name));

  const expectCalls = async (
    alias: string,
    command: string,
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const env = {
      LINKLOG_URL: laterApi.url,
      LINKLOG_KEY: key.key,
      LINKLOG_FULL_KEY: fullKey.key,
      ...more,
    };
    const { stdout } = await run(dir.path, command, args, env);
    const { qrCode, ...printed } = JSON.parse(stdout) as { readonly qrCode: string };
    expect(printed).to.deep.equal({ alias, ...expectedCalls });
    expect(Buffer.from(qrCode, 'base64').toString('latin1', 1, 4)).to.equal('PNG');
  };

  /** Runs a program of clients.md. */
  const runClient = async (command: string, program: string): Promise<Printed> => {
    const env = { LINKLOG_URL: bench.product.api, LINKLOG_KEY: key.key };
    const { stdout } = await run(dir.path, command, [program], env);
    return JSON.parse(stdout) as Printed;
  };

  const expectWorked = async (printed: Printed): Promise<void> => {
    const { shortCode, qrCode, ...others } = printed;
    expect(others).to.deep.equal({ version: 2, titles: ['Spring sale'], count: 1, clicks: 1 });
    const link = await bench.api(`/v2/links/${shortCode}`, key.key);
    expect(link.json()).to.include({ shortCode, title: 'Spring sale', version: 2 });
    const image = await bench.api(`/v2/qr/${shortCode}`, key.key);
    expect(image.headers['content-type']).to.equal('image/png');
    expect(Buffer.from(qrCode, 'base64').equals(image.bytes)).to.equal(true);
  };

  const toolAt = (name: string): string => path.join(nodeModules, '.bin', name);

  it('in TypeScript create, change, list and count links, and read clicks and a QR code', async () => {
    const writeIn = (name: string, text: string): Promise<void> =>
      writeFile(path.join(dir.path, name), text);
    await symlink(nodeModules, path.join(dir.path, 'node_modules'));
    await writeIn('package.json', JSON.stringify({ type: 'module' }));
    await writeIn('program.ts', codeIn('clients.md', 'ts'));
    await run(dir.path, toolAt('openapi-typescript'), [
      ...[`${bench.product.api}/openapi.json`, '--output', 'linklog.ts'],
    ]);
    const types = ['--module', 'nodenext', '--exactOptionalPropertyTypes'];
    await run(dir.path, toolAt('tsc'), [...options, ...types, 'program.ts']);
    await expectWorked(await runClient(process.execPath, 'program.js'));
  });

  describe('in Python', () => {
    needs('openapi-python-client', 'python3');

    it('do the same; the generator omits no operation and no response', async () => {
      const { stdout, stderr } = await run(dir.path, 'openapi-python-client', [
        ...['generate', '--url', `${bench.product.api}/openapi.json`, '--meta', 'none'],
        ...['--output-path', 'linklog', '--fail-on-warning'],
      ]);
      expect([stdout.trim(), stderr]).to.deep.equal(['Generating linklog', '']);
      const { paths } = (await bench.api('/openapi.json', null)).json() as {
        readonly paths: Readonly<Record<string, object>>;
      };
      const operations = Object.values(paths).flatMap((item) =>
        Object.keys(item).filter((method) => method !== 'parameters'),
      );
      const files = await readdir(path.join(dir.path, 'linklog', 'api'), { recursive: true });
      expect(files.filter((name) => /\/(?!__init__)\w+\.py$/.test(name))).to.have.length(
        operations.length,
      );
      await writeFile(path.join(dir.path, 'program.py'), codeIn('clients.md', 'python'));
      await expectWorked(await runClient('python3', 'program.py'));
    });
  });

  describe('in TypeScript by three more generators', () => {
    needs('.client-generators');

    const generators = projectFile('.client-generators', 'node_modules', '.bin');
    const source = (): string => `${bench.product.api}/openapi.json`;

    it('make all kinds of calls', async () => {
      const folder = path.join(dir.path, 'typescript');
      await cp(path.join(programs, 'typescript'), folder, { recursive: true });
      await symlink(nodeModules, path.join(folder, 'node_modules'));
      const generate = (name: string, ...args: readonly string[]) =>
        run(folder, path.join(generators, name), args);
      await run(folder, toolAt('openapi-typescript'), [source(), '--output', 'linklog.ts']);
      await generate('openapi-ts', '--input', source(), '--output', 'hey-api');
      await generate('orval', '--input', source(), '--output', 'orval/api.ts', '--client', 'fetch');
      await generate(
        ...(['swagger-typescript-api', 'generate', '--path', source()] as const),
        ...['--output', 'swagger-typescript-api', '--generate-union-enums'],
      );
      const names = ['hey-api', 'orval', 'swagger-typescript-api'];
      const files = names.map((name) => `${name}.ts`);
      const types = ['--module', 'esnext', '--moduleResolution', 'bundler', '--noEmit'];
      await run(folder, toolAt('tsc'), [...options, ...types, ...files]);
      const bundle = ['--bundle', '--platform=node', '--format=esm', '--out-extension:.js=.mjs'];
      await generate('esbuild', ...[...files, ...bundle, '--outdir=.']);
      for (const name of names) {
        await expectCalls(name, process.execPath, [path.join(folder, `${name}.mjs`)]);
      }
    });

    it('can be generated because the document follows the rules of Redocly and Spectral', async () => {
      const lint = async (name: string, ...args: readonly string[]): Promise<unknown> => {
        const { stdout } = await run(dir.path, path.join(generators, name), [
          'lint',
          source(),
          ...args,
        ]);
        return JSON.parse(stdout);
      };
      const redocly = await lint('redocly', '--extends', 'recommended', '--format', 'json');
      const { problems } = redocly as { readonly problems: readonly RedoclyProblem[] };
      expect(
        problems.map(({ ruleId, location }) => [ruleId, location[0]?.pointer]),
      ).to.have.deep.members(
        // The lines of files, which operations return as bytes.
        ['ExportedLink', 'ImportedRow'].map((name) => [
          'no-unused-components',
          `#/components/schemas/${name}`,
        ]),
      );
      await writeFile(path.join(dir.path, 'spectral.yaml'), spectralRules);
      const spectral = ['--ruleset', 'spectral.yaml', '--format', 'json', '--quiet'];
      expect(await lint('spectral', ...spectral)).to.deep.equal([]);
    });
  });

  describe('in Go by openapi-generator', () => {
    needs('java', 'go', '.openapi-generator');

    it('make all kinds of calls', async () => {
      const client = await generate(
        'go',
        ...[
          '--package-name',
          'linklog',
          '--additional-properties',
          'enumClassPrefix=true,generateUnmarshalJSON=false',
        ],
      );
      // The generated module has the name of a repository that does not exist.
      await run(client, 'go', ['mod', 'edit', '-module', 'linklog']);
      const folder = path.join(dir.path, 'go-calls');
      await mkdir(folder);
      await cp(path.join(programs, 'calls.go'), path.join(folder, 'calls.go'));
      const module = 'module calls\ngo 1.23\nrequire linklog v0.0.0\nreplace linklog => ../go\n';
      await writeFile(path.join(folder, 'go.mod'), module);
      await run(folder, 'go', ['build', '-o', 'calls', '.'], { GOFLAGS: '-mod=mod' });
      await expectCalls('go-client', path.join(folder, 'calls'), []);
    });
  });

  describe('by openapi-generator', () => {
    needs('java', 'javac', 'python3', '.openapi-generator');

    it('in Python make all kinds of calls', async () => {
      const client = await generate('python', '--package-name', 'linklog');
      const program = path.join(programs, 'calls.py');
      await expectCalls('python-client', 'python3', [program], { PYTHONPATH: client });
    });

    it('in Java make all kinds of calls', async () => {
      const packages = ['--invoker-package', 'linklog', '--api-package', 'linklog.api'];
      const client = await generate(
        'java',
        ...[...packages, '--model-package', 'linklog.model'],
        ...['--library', 'native'],
      );
      const sources = path.join(client, 'src', 'main', 'java');
      const classPath = ['classes', ...jars('j')].join(path.delimiter);
      await run(dir.path, 'javac', [
        ...['-nowarn', '-proc:none', '-d', 'classes', '-cp', classPath, '-sourcepath', sources],
        path.join(programs, 'Calls.java'),
      ]);
      await expectCalls('java-client', 'java', ['-cp', classPath, 'Calls']);
    });
  });
});
