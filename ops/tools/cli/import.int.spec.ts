import { expect } from 'chai';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { ImportResponse, ImportedRow } from '../../../schemas/http/imports.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import {
  asTyped,
  startLinklogCli,
  temporaryDir,
  type CommandOutput,
} from '../../test/support/process.js';
import { startShlink } from '../import-sources/testing/shlink-server.js';
import { unknownId as id } from './testing/on-service.js';

const running: ImportResponse = {
  ...{ id, format: 'csv', status: 'running', dryRun: false },
  ...{ rows: 0, created: 0, existing: 0, failed: 0, visits: 0, ignoredColumns: [] },
  ...{ startedAt: '2026-05-20T12:00:00.000Z', endedAt: null, error: null },
};

const done: ImportResponse = {
  ...running,
  ...{ status: 'done', rows: 1_002, created: 1_000, existing: 2 },
  endedAt: '2026-05-20T12:00:05.000Z',
};

const doneText = `id        ${id}
format    csv
status    done
rows      1,002
created   1,000
existing  2
failed    0
visits    0
started   2026-05-20T12:00:00.000Z
ended     2026-05-20T12:00:05.000Z
`;

type Respond = (request: IncomingMessage, response: ServerResponse) => unknown;

describe('CLI: linklog import, on a stub of the admin API', () => {
  let server: Server;
  let dir: string;
  let env: Readonly<Record<string, string>>;
  let calls: string[];
  let uploads: Buffer[];
  /** The states of the import, of which the last one is repeated. */
  let states: ImportResponse[];
  let rows: readonly ImportedRow[];
  let intercept: (call: string) => Respond | undefined;

  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (request.method === 'POST') {
      void buffer(request).then((body) => {
        uploads.push(body);
        response.writeHead(202).end(JSON.stringify(running));
      });
    } else if (url.pathname.endsWith('/rows')) {
      const outcome = url.searchParams.get('outcome');
      const found = rows.filter((row) => outcome === null || row.outcome === outcome);
      response.end(found.map((row) => `${JSON.stringify(row)}\n`).join(''));
    } else if (request.method === 'DELETE') response.writeHead(204).end();
    else if (url.pathname === '/admin/imports') {
      response.end(JSON.stringify({ imports: states }));
    } else {
      response.end(JSON.stringify(states.length > 1 ? states.shift() : states[0]));
    }
  };

  beforeEach(async () => {
    [calls, uploads, states, rows] = [[], [], [done], []];
    intercept = () => undefined;
    dir = await temporaryDir();
    server = createServer((request, response) => {
      const call = `${request.method ?? ''} ${request.url ?? ''}`;
      calls.push(call);
      (intercept(call) ?? respond)(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const admin = { ADMIN_PORT: String(port), ADMIN_TOKEN: 'the-token-of-operators' };
    env = { ...admin, DATA_DIR: path.join(dir, 'data'), TMPDIR: dir };
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(dir, { recursive: true });
  });

  const fileWith = async (content: string | Buffer): Promise<string> => {
    const file = path.join(dir, 'file');
    await writeFile(file, content);
    return file;
  };

  const linklog = (...args: readonly string[]): Promise<CommandOutput> => runLinklogCli(args, env);

  const expectFailure = async (
    args: readonly string[],
    exitCode: number,
    line: string,
  ): Promise<void> => {
    const stderr = `linklog: ${line}\n`;
    expect(await linklog(...args), args.join(' ')).to.deep.equal({ exitCode, stdout: '', stderr });
  };

  it('sends a file with the options, waits until the import has ended, and prints it', async () => {
    states = [running, { ...running, rows: 500, created: 500 }, done];
    const content = Buffer.alloc(3_000_000, 'code,url\n');
    const file = await fileWith(content);
    const output = await linklog(
      ...['import', file, '--account', 'shop', '--format', 'CSV', '--domain', 'go.example.com'],
      ...['--on-conflict', 'suffix', '--dry-run', '--visits', '--encoding', 'shift_jis'],
      ...['--link-zone', 'Europe/Berlin', '--visit-zone', 'Asia/Tokyo'],
    );
    expect(output).to.deep.equal({ exitCode: 0, stdout: doneText, stderr: '' });
    expect(uploads.map((body) => body.equals(content))).to.deep.equal([true]);
    const { pathname, searchParams } = new URL(calls[0]?.slice('POST '.length) ?? '', 'http://x');
    expect(pathname).to.equal('/admin/imports');
    expect(Object.fromEntries(searchParams)).to.deep.equal({
      ...{ account: 'shop', format: 'csv', domain: 'go.example.com', onConflict: 'suffix' },
      ...{ dryRun: '1', visits: '1', linkZone: 'Europe/Berlin', visitZone: 'Asia/Tokyo' },
      encoding: 'shift_jis',
    });
    expect(calls.slice(1)).to.deep.equal(Array(3).fill(`GET /admin/imports/${id}`));
  });

  it('prints the first 20 failed rows, and how to get the others', async () => {
    rows = Array.from({ length: 30 }, (_, index) => ({
      ...{ row: index + 2, code: index === 0 ? null : `c${index}`, url: 'https://example.org/' },
      ...{ outcome: index % 2 === 0 ? 'invalid' : 'conflict', message: `Message ${index}.` },
    }));
    states = [{ ...done, failed: 30 }];
    const { exitCode, stdout } = await linklog('import', await fileWith('x'));
    expect(exitCode).to.equal(0);
    expect(calls[0]).to.equal('POST /admin/imports?account=default&format=auto');
    const lines = stdout.split('\n\n')[1]?.split('\n');
    expect(lines?.slice(0, 2)).to.deep.equal([
      ...['2 -: invalid, Message 0.', '3 c1: conflict, Message 1.'],
    ]);
    expect(lines?.slice(19)).to.deep.equal([
      '21 c19: conflict, Message 19.',
      asTyped(`10 more: see "linklog imports rows ${id}"`, linklogCommand()),
      '',
    ]);
  });

  it('fails if the import failed or was stopped', async () => {
    const file = await fileWith('x');
    for (const [state, notice] of [
      [{ status: 'failed', error: 'A code is in use.' }, 'the import failed: A code is in use.'],
      [{ status: 'stopped' }, 'the import was stopped'],
    ] as const) {
      states = [{ ...done, ...state }];
      const { exitCode, stdout, stderr } = await linklog('import', file);
      expect([exitCode, stderr]).to.deep.equal([1, `linklog: ${notice}\n`]);
      expect(stdout).to.include(`status    ${state.status}\n`);
    }
  });

  it('waits for a service that restarts', async () => {
    states = [running, done];
    let isDown = true;
    intercept = (call) => {
      if (!call.startsWith('GET') || !isDown) return undefined;
      isDown = false;
      return (request) => request.socket.destroy();
    };
    const { exitCode, stdout, stderr } = await linklog('import', await fileWith('x'));
    expect([exitCode, stdout]).to.deep.equal([0, doneText]);
    expect(stderr).to.match(/^linklog: the connection to \S+ failed: [^\n]+; trying again\n$/);
  });

  const message = JSON.stringify({ message: 'The domain is not active' });
  for (const [what, reply, line] of [
    [
      'a refusal before the end of the file',
      (_request, response) => response.writeHead(400, { Connection: 'close' }).end(message),
      /^linklog: The domain is not active\n$/,
    ],
    [
      'a lost connection while the file is sent',
      (request) => request.once('data', () => request.socket.destroy()),
      /^linklog: the connection to \S+ failed: [^\n]+; the change may have taken effect: see "npx linklog imports list"\n$/,
    ],
  ] as [string, Respond, RegExp][]) {
    it(`reports ${what}`, async () => {
      intercept = () => reply;
      const file = await fileWith(Buffer.alloc(20_000_000, 'code,url\n'));
      const { exitCode, stderr } = await linklog('import', file);
      expect(exitCode).to.equal(1);
      expect(stderr).to.match(line);
    });
  }

  it('reports files that cannot be read, and options that exclude each other', async () => {
    const missing = path.join(dir, 'missing');
    const noSuchFile = `ENOENT: no such file or directory, open '${missing}'`;
    await expectFailure(['import', missing], 1, `${missing} cannot be read: ${noSuchFile}`);
    calls = [];
    const [shlink, kutt] = ['--from shlink --url https://s.example', '--from kutt --key-file x'];
    const empty = await fileWith('two words\n');
    const see = '; see "linklog import --help"';
    const noZone = 'Zone must be an IANA time zone, such as Europe/Berlin';
    const failures: Readonly<Record<string, string>> = {
      '': `the file is missing${see}`,
      'x --url https://x.example': '--url and --key-file require --from',
      'x --from kutt': '--from excludes a file and --format',
      '--from kutt --format csv': '--from excludes a file and --format',
      '--from kutt': `--url is missing${see}`,
      [shlink]: `--key-file is missing${see}`,
      [`${shlink} --key-file ${missing}`]: `the key cannot be read from ${missing}: ${noSuchFile}`,
      [`${shlink} --key-file ${empty}`]: `${empty} has no key: a key is one line of visible characters`,
      [`${kutt} --url https://x.example --visits`]: 'the API of Kutt has no visits',
      [`${kutt} --url kutt.example`]:
        '"kutt.example" is not the address of a service, such as https://s.example.com',
      'x --link-zone Mars': `link${noZone}`,
      'x --visit-zone Mars': `visit${noZone}`,
      'x --account a,b':
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
    };
    for (const [options, line] of Object.entries(failures)) {
      const args = ['import', ...options.split(' ').filter((word) => word !== '')];
      await expectFailure(args, 2, asTyped(line, linklogCommand()));
    }
    expect(calls).to.deep.equal([]);
  });

  it('sends what it reads from Shlink', async () => {
    const { state, server: shlink } = await startShlink();
    try {
      const keyFile = await fileWith('the-key\n');
      const from = ['import', '--from', 'shlink', '--url', `http://${shlink.host}/`, '--visits'];
      const args = [...from, '--key-file', keyFile];
      await expectFailure(args, 1, `${shlink.host} has no links`);
      const visit = { date: '2025-01-02T03:04:05Z', referer: '', userAgent: 'x' };
      state.links = [{ shortCode: 'a', domain: null, visits: [visit], rules: [] }];
      // A process, whose temporary folder is TMPDIR.
      const imported = await startLinklogCli(args, env).ended;
      expect(imported).to.deep.equal({ exitCode: 0, stdout: doneText, stderr: '' });
      const [body = Buffer.alloc(0)] = uploads;
      const lines = gunzipSync(body).toString('utf8').trimEnd().split('\n');
      const [link, visited] = lines.map((line) => JSON.parse(line) as object);
      expect(link).to.have.nested.property('link.shortCode', 'a');
      expect(visited).to.deep.equal({ visit, shortCode: 'a', domain: 's.test' });
      expect(calls[0]).to.equal('POST /admin/imports?account=default&format=shlink-api&visits=1');
      await writeFile(keyFile, 'wrong');
      await expectFailure(args, 1, `${shlink.host} refused the key (HTTP 401)`);
      expect(await readdir(dir)).to.deep.equal(['file']);
    } finally {
      shlink.close();
    }
  });

  it('leaves the import running at SIGINT', async () => {
    states = [running];
    let polled: () => void = () => undefined;
    const polling = new Promise<void>((resolve) => (polled = resolve));
    intercept = (call) => {
      if (call.startsWith('GET')) polled();
      return undefined;
    };
    const { child, ended } = startLinklogCli(['import', await fileWith('x')], env);
    await polling;
    child.kill('SIGINT');
    expect(await ended).to.deep.equal({
      ...{ exitCode: 130, stdout: '' },
      stderr: asTyped(
        `linklog: the report was stopped; the import ${id} continues; see "linklog imports show ${id}"\n`,
      ),
    });
    expect(calls.filter((call) => call.startsWith('DELETE'))).to.deep.equal([]);
  });

  it('lists, shows and stops imports, and prints their rows', async () => {
    const stopped: ImportResponse = { ...done, status: 'stopped', dryRun: true, error: 'a\nb' };
    states = [stopped];
    const listed = await linklog('imports', 'list', '--account', 'shop');
    const [head, row] = listed.stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(head?.slice(0, 3)).to.deep.equal(['ID', 'FORMAT', 'STATUS']);
    expect(row).to.deep.equal([
      ...[id, 'csv', 'stopped (dry run)', '1,002', '1,000', '2', '0', done.startedAt],
    ]);
    states = [{ ...stopped, ignoredColumns: ['Owner', 'a\u001bb'] }];
    const shown = await linklog('imports', 'show', id);
    expect(shown.stdout).to.match(/^ignored columns +Owner, a.*b$/m);
    expect(shown.stdout).to.not.include('\u001b');
    states = [stopped];
    expect(shown.stdout).to.match(/^dry run +yes, no link was created$/m);
    expect(shown.stdout).to.match(/^error +a\\u000ab$/m);
    const { stdout } = await linklog('imports', 'stop', id, '--json');
    expect(JSON.parse(stdout)).to.deep.equal(stopped);
    expect(calls).to.deep.equal([
      'GET /admin/imports?account=shop',
      `GET /admin/imports/${id}`,
      `DELETE /admin/imports/${id}`,
      `GET /admin/imports/${id}`,
    ]);
    rows = [
      { row: 2, code: 'käse', url: 'https://example.org/', outcome: 'created', message: null },
      { row: 3, code: 'a\u001b', url: null, outcome: 'invalid', message: 'No URL.' },
    ];
    const printed = (...args: readonly string[]): Promise<CommandOutput> =>
      startLinklogCli(['imports', 'rows', id, ...args], env).ended;
    expect((await printed()).stdout).to.equal('2 käse: created\n3 a\\u001b: invalid, No URL.\n');
    const json = await printed('--outcome', 'invalid', '--json');
    expect(JSON.parse(json.stdout)).to.deep.equal(rows[1]);
    states = [];
    expect((await linklog('imports', 'list')).stdout).to.equal('There are no imports.\n');
  });
});
