import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { z } from 'zod';
import { freePort } from '../../local/process/server.js';
import { hasCode } from '../../platform/errors.js';
import { endShared } from '../support/at-end.js';
import { testDatabase } from '../support/database.js';
import { sendRequest } from '../support/http.js';
import { openStreams } from '../support/idle-streams.js';
import { median } from '../support/median.js';
import { wholeNumber } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { launch, mainFile, readyLine, temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';
import { cpuMsOfTree } from './cpu-ms.js';
import { createLinks } from '../support/create-links.js';

/**
 * Redirects of the edge alone and of everything in one process, compared with bare node:http and nginx (a map and
 * an access log; skipped if it is not installed), which send the same headers:
 * `node dist/ops/test/bench/redirects.js [--rounds N] [--seconds N] [--links N] [--visitors] [--rules] [--domains] [--streams N] [--bare]`
 *
 * The measured server has core 0. `wrk` has core 1, which it shares with the API and the PostgreSQL of the edge
 * alone, at a higher priority. Each round measures each server, in another order. `--visitors`: 10,000 addresses
 * and 500 user agents instead of one. `--rules`: also the edge alone with links that have three rules, by country, device and
 * language, of which none matches. `--domains`: also the edge alone with links on one of 10,000 domains. `--streams`:
 * also everything in one process with N idle streams of events. `--bare`: only everything in one process, and bare
 * node:http.
 */
const options = new Command('redirects')
  .option('--rounds <count>', 'rounds', wholeNumber, 5)
  .option('--seconds <count>', 'length of a round', wholeNumber, 5)
  .option('--links <count>', 'links', wholeNumber, 100_000)
  .option('--visitors', '10,000 addresses and 500 user agents')
  .option('--rules', 'also links with three rules')
  .option('--domains', 'also links on one of 10,000 domains')
  .option('--streams <count>', 'also everything in one process with idle streams', wholeNumber, 0)
  .option('--bare', 'only everything in one process, and bare node:http')
  .parse()
  .opts<
    Record<'rounds' | 'seconds' | 'links' | 'streams', number> &
      Partial<Record<'visitors' | 'rules' | 'domains' | 'bare', true>>
  >();
const { rounds, seconds, links } = options;
const connections = 64;

interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly codes: readonly string[];
  /** The `Host` of its requests; by default that of `url`. */
  readonly domain?: string;
  readonly stop: () => Promise<unknown>;
}

const [serverCore, otherCore] = ['0', '1'] as const;
type Cores = typeof serverCore | typeof otherCore;

/** Sets the cores of processes that this process starts from now on. */
const startOn = (cores: Cores): void => {
  execFileSync('taskset', ['--cpu-list', '--pid', cores, String(process.pid)]);
};

const agentOf = (number: number): string => {
  const version = `${60 + (number % 100)}.0.${number}`;
  const systems = ['Windows NT 10.0; Win64; x64', 'X11; Linux x86_64', 'Linux; Android 10; K'];
  const system = systems[number % systems.length] ?? '';
  return number % 2 === 0
    ? `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0 Safari/537.36`
    : `Mozilla/5.0 (${system}; rv:${version}) Gecko/20100101 Firefox/${version}`;
};

/** A line for each request: path, address of the client (or empty), user agent, host (or empty). */
const requestLines = ({ codes, domain = '' }: Server): string =>
  codes
    .map((code, index) => {
      const address = `10.9.${(index >> 8) % 40}.${index % 250}`;
      const [from, agent] = options.visitors
        ? [address, agentOf(Math.floor(index / 7) % 500)]
        : ['', agentOf(0)];
      return `/${code}\t${from}\t${agent}\t${domain}`;
    })
    .join('\n');

const script = `
local requests, next = {}, nil
function init(args)
  local headers = { ["Accept"] = "text/html,application/xhtml+xml,*/*;q=0.8",
    ["Accept-Language"] = "en-US,en;q=0.9", ["Referer"] = "https://news.example.com/item/1" }
  for line in io.lines(args[1]) do
    local path, address, agent, host = line:match("([^\\t]*)\\t([^\\t]*)\\t([^\\t]*)\\t(.*)")
    headers["User-Agent"] = agent
    if address ~= "" then headers["X-Forwarded-For"] = address end
    if host ~= "" then headers["Host"] = host end
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
  next = tonumber(args[2])
  math.randomseed(os.time())
end
function request()
  if next == nil then return requests[math.random(#requests)] end
  next = next + 1
  return requests[(next - 1) % #requests + 1]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"us":%d,"failed":%d,"p50":%d,"p99":%d}\\n', summary.requests,
    summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
`;

const dir = await temporaryDir();
const scriptFile = path.join(dir, 'redirects.lua');
await writeFile(scriptFile, script);
const requestsFile = ({ name }: Pick<Server, 'name'>): string => path.join(dir, `${name}.txt`);

const wrkResult = z.object({
  requests: z.number(),
  us: z.number(),
  failed: z.literal(0),
  p50: z.number(),
  p99: z.number(),
});

const servers: Server[] = [];

/**
 * Command prefix that runs a program before all others of its core; needs root. Without it, PostgreSQL delays wrk by
 * time slices of 4 ms, and the core of the edge is idle for a tenth of the time.
 */
const realTime = ['chrt', '--fifo', '1'];
const wrkPriority = spawnSync('env', [...realTime, 'true']).status === 0 ? realTime : [];
if (wrkPriority.length === 0) {
  process.stderr.write(
    'wrk runs without real-time priority (not root?): PostgreSQL slows down the edge alone\n',
  );
}

/** Waits for the background work of a load. */
const untilQuiet = (): Promise<void> =>
  eventually(
    'the servers are quiet',
    async () => {
      const used = (): number => servers.reduce((sum, { pid }) => sum + cpuMsOfTree(pid), 0);
      const before = used();
      await sleep(500);
      return used() - before < 50;
    },
    300_000,
  );

/**
 * Runs wrk with the links in order from number `first` on, or at random. The CPU time is counted until the server is
 * quiet: projections lag while the core is busy.
 *
 * @throws if a response is not a redirect
 */
const runWrk = async (server: Server, forSeconds: number, first: number | null) => {
  const before = cpuMsOfTree(server.pid);
  const wrk = spawn(
    'env',
    [
      ...wrkPriority,
      ...['wrk', '-t1', `-c${connections}`, `-d${forSeconds}s`],
      ...['--timeout', '10s', '-s', scriptFile],
      ...[server.url, '--', requestsFile(server), ...(first === null ? [] : [String(first)])],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const output = await text(wrk.stdout);
  const { requests, us, p50, p99 } = wrkResult.parse(JSON.parse(output.split('\n').at(-2) ?? ''));
  const perSecond = (requests * 1e6) / us;
  await untilQuiet();
  const cpuUs = ((cpuMsOfTree(server.pid) - before) * 1_000) / requests;
  return { requests, perSecond, cpuUs, p50, p99 };
};
type Result = Awaited<ReturnType<typeof runWrk>>;

const plansFile = await generousPlansFile(dir);
const adminToken = 'bench-admin-token-0123456789';
const environment = {
  PLANS_FILE: plansFile,
  ADMIN_TOKEN: adminToken,
  TRUSTED_PROXIES: '127.0.0.0/8',
};
const unmatchedRules = [
  { name: 'country', when: { countries: ['CH'] }, url: 'https://example.com/country' },
  { name: 'device', when: { devices: ['tv'] }, url: 'https://example.com/device' },
  { name: 'language', when: { languages: ['fr'] }, url: 'https://example.com/language' },
];
const urlOf = (index: number): string => `https://example.com/${index}?utm_source=bench`;

/** Starts a program that prints a ready line with its addresses. */
const start = async (name: string, program: readonly string[], env: Record<string, string>) => {
  const running = launch({ ...environment, DATA_DIR: path.join(dir, name), ...env }, program);
  const ready = (await readyLine(running)) as Record<string, string>;
  return {
    ready,
    pid: running.child.pid ?? 0,
    stop: () => {
      running.child.kill('SIGTERM');
      return running.ended;
    },
  };
};

const startAllInOne = async (streams: number): Promise<Server> => {
  startOn(serverCore);
  const product = await startEmbeddedProduct({ env: environment });
  startOn(otherCore);
  const { api, edge, pid, firstKey } = product;
  const codes = await createLinks(api, firstKey ?? '', links, urlOf);
  const idle = await openStreams(product, streams);
  const stop = async (): Promise<void> => {
    idle.close();
    await product.stop();
    await product.cleanup();
  };
  const name = streams === 0 ? 'all in one' : `all in one, ${streams} idle streams`;
  return { name, url: edge, pid, codes, stop };
};

const domain = 'go.bench.example';

/** An operator adds the domain of the links; the others are rows that the edge reads when it starts. */
const addDomains = async (
  admin: string,
  { pool }: Awaited<ReturnType<typeof testDatabase>>,
): Promise<void> => {
  const headers = { Authorization: `Bearer ${adminToken}` };
  const body = { domain, account: 'default' };
  const added = await sendRequest(`${admin}/admin/domains`, { method: 'POST', headers, body });
  if (added.status !== 201) throw new Error(`POST /admin/domains: ${added.status} ${added.text}`);
  await pool.query(
    `INSERT INTO ledger.domains (domain, account, created_at, verified_at, sequence, last_event_at)
     SELECT 'go-' || i || '.bench.example', 'other', now(), now(), 1, now()
     FROM generate_series(2, 10000) AS i`,
  );
};

/** Edges that share a PostgreSQL and its links, with and without the fast path. */
const startEdgesAlone = async (): Promise<readonly Server[]> => {
  const database = await testDatabase('redirects');
  const shared = { DATABASE_URL: database.url };
  const apiOnly = { ...shared, SHORT_URL_HOST: 'http://localhost' };
  const api = await start('api', [mainFile, 'api'], apiOnly);
  const { api: url = '', firstKey = '' } = api.ready;
  const codes = await createLinks(url, firstKey, links, urlOf);
  if (options.domains) await addDomains(api.ready['admin'] ?? '', database);
  const startEdge = async (name: string, env: Record<string, string>): Promise<Server> => {
    startOn(serverCore);
    const edge = await start(name, [mainFile, 'edge'], { ...shared, ...env });
    startOn(otherCore);
    return { name, url: edge.ready['edge'] ?? '', pid: edge.pid, codes, stop: edge.stop };
  };
  const alone = await startEdge('edge alone', {});
  const stop = async (): Promise<void> => {
    await alone.stop();
    await api.stop();
    await database.drop();
    await endShared();
  };
  const others = [await startEdge('edge alone, EDGE_LANE=0', { EDGE_LANE: '0' })];
  if (options.rules) {
    const ruled = await createLinks(url, firstKey, links, urlOf, { rules: unmatchedRules });
    const name = 'edge alone, three rules';
    others.push({ ...alone, name, codes: ruled, stop: () => Promise.resolve() });
  }
  if (options.domains) {
    const owned = await createLinks(url, firstKey, links, urlOf, { domain });
    const name = 'edge alone, one of 10,000 domains';
    others.push({ ...alone, name, domain, codes: owned, stop: () => Promise.resolve() });
  }
  return [...others, { ...alone, stop }];
};

const bareFile = fileURLToPath(new URL('bare-redirects.js', import.meta.url));

const startBare = async (codes: readonly string[]): Promise<Server> => {
  const codesFile = path.join(dir, 'codes.txt');
  await writeFile(codesFile, codes.join('\n'));
  startOn(serverCore);
  const { ready, pid, stop } = await start('bare', [bareFile, codesFile], {});
  startOn(otherCore);
  return { name: 'bare node:http', url: ready['edge'] ?? '', pid, codes, stop };
};

/** @returns `null` if nginx is not installed */
const startNginx = async (codes: readonly string[]): Promise<Server | null> => {
  const home = path.join(dir, 'nginx');
  await mkdir(home);
  const locations = codes.map((code, index) => `/${code} ${urlOf(index)};`);
  await writeFile(path.join(home, 'codes.map'), locations.join('\n'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const port = await freePort();
  await writeFile(
    path.join(home, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${home}/pid; events { worker_connections 1024; }
    http {
      ${temporary.map((name) => `${name}_temp_path ${path.join(home, name)};`).join('\n')}
      keepalive_requests 100000000; server_tokens off; map_hash_max_size 1048576; map_hash_bucket_size 128;
      map $uri $location { include ${home}/codes.map; }
      access_log ${home}/access.log combined buffer=64k flush=1s;
      server {
        listen 127.0.0.1:${port};
        add_header Cache-Control "private, no-store";
        add_header Referrer-Policy no-referrer-when-downgrade;
        add_header X-Content-Type-Options nosniff;
        if ($location = "") { return 404; }
        return 302 $location;
      }
    }`,
  );
  startOn(serverCore);
  const nginx = spawn('nginx', ['-p', home, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  startOn(otherCore);
  try {
    await once(nginx, 'spawn');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
  const url = `http://127.0.0.1:${port}`;
  await eventually('nginx listens', () =>
    sendRequest(url).then(
      () => true,
      () => false,
    ),
  );
  const stop = (): Promise<unknown> => {
    const ended = once(nginx, 'close');
    nginx.kill();
    return ended;
  };
  return { name: 'nginx', url, pid: nginx.pid ?? 0, codes, stop };
};

try {
  const allInOne = await startAllInOne(0);
  servers.push(allInOne);
  if (options.streams > 0) servers.push(await startAllInOne(options.streams));
  const { codes } = allInOne;
  if (!options.bare) servers.push(...(await startEdgesAlone()));
  const bare = await startBare(codes);
  servers.push(bare);
  const nginx = options.bare ? null : await startNginx(codes);
  if (nginx) servers.push(nginx);

  for (const server of servers) {
    await writeFile(requestsFile(server), requestLines(server));
    // Caches each link.
    for (let sent = 0; sent < links;) sent += (await runWrk(server, 2, sent)).requests;
  }
  const results = new Map<string, Result[]>(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    // Rotated: the first server of a round has the quietest machine.
    const order = servers.map((_, index) => servers[(index + round) % servers.length]);
    for (const server of order) {
      if (!server) continue;
      results.get(server.name)?.push(await runWrk(server, seconds, null));
    }
  }

  const baseline = results.get(bare.name) ?? [];
  const rows = [...results].map(([name, measured]) => {
    const value = (figure: keyof Result): number =>
      median(measured.map((result) => result[figure]));
    const ratio = (figure: keyof Result): string =>
      median(
        measured.map((result, round) => result[figure] / (baseline[round]?.[figure] ?? NaN)),
      ).toFixed(2);
    return [
      name,
      value('perSecond').toFixed(0),
      ratio('perSecond'),
      value('cpuUs').toFixed(1),
      ratio('cpuUs'),
      (value('p50') / 1_000).toFixed(2),
      (value('p99') / 1_000).toFixed(2),
    ];
  });
  const columns = ['Redirects a second', '× bare', 'CPU µs', '× bare', 'p50 ms', 'p99 ms'];
  process.stdout.write(
    `${connections} connections, ${links} links, ${rounds} rounds of ${seconds} s, Node ${process.version}` +
      `${options.visitors ? ', 10,000 addresses and 500 user agents' : ''}\n\n` +
      markdownTable(['Server', ...columns], rows),
  );
} finally {
  for (const server of servers) await server.stop();
  await rm(dir, { recursive: true, force: true });
}
