/** Examines an installation: what an operator checks when something is wrong. */
import { lookup } from 'node:dns/promises';
import { statfs } from 'node:fs/promises';
import { connect } from 'node:tls';
import pLimit from 'p-limit';
import { missingEvents, projectionStatus } from '../../projectors/main.js';
import { maxFindings, type DoctorReport, type Finding } from '../../schemas/http/doctor.js';
import type { Config } from '../config/config.js';
import { readKnownDomains } from '../ledger/domains.js';
import { withinDeadline } from '../platform/concurrency/deadline.js';
import { messageOf, nullOn } from '../platform/errors.js';
import { retentionFault } from '../event-log/kafka/topics.js';
import { createLogger } from '../platform/logging.js';
import type { Pool } from '../platform/postgres/pool.js';
import { fileDescriptorLimit } from '../platform/process/file-descriptors.js';
import { newestBackup } from './backup-folder.js';
import { openRedis } from './connections.js';
import type { OpenedLog } from './event-log.js';
import { roles } from './roles.js';

/** Of one check, and of one connection to another machine (ms). */
const checkWithinMs = 10_000;
const connectWithinMs = 4_000;

/** Domains whose certificates are examined. */
const maxDomains = 50;

const dayMs = 86_400_000;

type Found = Omit<Finding, 'check'>;

const ok = (text: string): Found => ({ state: 'ok', text, remedy: null });
const warning = (text: string, remedy: string): Found => ({ state: 'warning', text, remedy });
const failed = (text: string, remedy: string): Found => ({ state: 'failed', text, remedy });

type Check = () => Promise<Found | readonly Found[]>;

/** Runs checks concurrently. A check that rejects or is late has failed. */
const runAll = async (checks: Readonly<Record<string, Check>>): Promise<readonly Finding[]> => {
  const run = async ([check, work]: readonly [string, Check]): Promise<readonly Finding[]> => {
    const remedy = 'Correct the reported cause; the log of the service has details';
    const found = await withinDeadline(checkWithinMs, work).catch((error: unknown) =>
      failed(messageOf(error), remedy),
    );
    return [found].flat().map((result) => ({ check, ...result }));
  };
  return (await Promise.all(Object.entries(checks).map(run))).flat();
};

const percent = (share: number): string => `${Math.floor(share * 100)} %`;

const examineDisk = async (dir: string): Promise<Found | readonly Found[]> => {
  const disk = await nullOn(statfs(dir), 'ENOENT');
  if (!disk) return [];
  const share = disk.bavail / disk.blocks;
  const text = `${percent(share)} of the disk of ${dir} is free`;
  if (share < 0.02) return failed(text, 'Free space or enlarge the disk');
  return share < 0.1 ? warning(text, 'Free space or enlarge the disk') : ok(text);
};

const examineShortUrls = async (config: Config): Promise<readonly Found[]> => {
  const base = config.shortUrlHost;
  if (base === null) {
    return [warning('SHORT_URL_HOST is not set: links have localhost', 'Set it to the public URL')];
  }
  const { hostname } = new URL(base);
  const addresses = await lookup(hostname, { all: true }).catch(() => []);
  if (addresses.length === 0) {
    return [failed(`${hostname} has no address in DNS`, 'Correct SHORT_URL_HOST or the DNS')];
  }
  const list = addresses.map(({ address }) => address).join(', ');
  const remedy = 'Check the proxy in front of the edge, its certificate and the firewall';
  const reached = await fetch(`${base}/health`, { signal: AbortSignal.timeout(connectWithinMs) })
    .then(async ({ status, headers, body }) => {
      // Another server may send a body of any size.
      await body?.cancel();
      const isJson = headers.get('content-type')?.startsWith('application/json') === true;
      return { status, isEdge: status === 200 && isJson, reason: '' };
    })
    .catch((error: unknown) => {
      const reason = messageOf((error as Error).cause ?? error);
      return { status: 0, isEdge: false, reason };
    });
  return [
    ok(`${hostname} has the addresses ${list}`),
    reached.isEdge
      ? ok(`${base} reaches an edge`)
      : failed(
          reached.status === 0
            ? `${base} is not reachable: ${reached.reason}`
            : `${base}/health responds with ${reached.status}, not as an edge`,
          remedy,
        ),
  ];
};

/** The end of the certificate of a name, and why a browser would refuse it. */
const certificateOf = (name: string) =>
  new Promise<{ readonly endsAt: number; readonly fault: string | null }>((resolve, reject) => {
    const socket = connect({ host: name, port: 443, servername: name, rejectUnauthorized: false });
    socket.setTimeout(connectWithinMs, () => {
      socket.destroy(new Error(`no response within ${connectWithinMs / 1_000} s`));
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
      const { authorized, authorizationError: error } = socket;
      resolve({ endsAt, fault: authorized ? null : String(error) });
      socket.destroy();
    });
  });

const examineCertificate = async (name: string): Promise<Found> => {
  const remedy = 'See ops/docs/tls.md: the proxy must renew certificates, and reach GET /tls/ask';
  try {
    const { endsAt, fault } = await certificateOf(name);
    if (fault !== null) return failed(`the certificate of ${name} is refused: ${fault}`, remedy);
    const days = Math.floor((endsAt - Date.now()) / dayMs);
    const text = `the certificate of ${name} is valid for ${days} days`;
    return days < 7 ? warning(text, remedy) : ok(text);
  } catch (error) {
    return failed(`${name} does not respond with TLS: ${messageOf(error)}`, remedy);
  }
};

const examineDomains = async (pool: Pool): Promise<readonly Found[]> => {
  const active = (await readKnownDomains(pool, null)).filter(({ account }) => account !== null);
  if (active.length === 0) return [ok('no own domains')];
  const limit = pLimit(10);
  const found = await limit.map(active.slice(0, maxDomains), ({ domain }) =>
    examineCertificate(domain),
  );
  const others = active.length - maxDomains;
  return others > 0 ? [...found, ok(`${others} more domains were not examined`)] : found;
};

const examineRedis = async (url: string): Promise<Found> => {
  const redis = await openRedis(url, createLogger('silent'));
  try {
    await new Promise((resolve, reject) => {
      redis.once('ready', resolve);
      redis.once('error', reject);
    });
    await redis.ping();
    return ok('Redis responds');
  } catch (error) {
    const remedy = 'Edges work without it, and read more from PostgreSQL. Check REDIS_URL';
    return warning(`Redis does not respond: ${messageOf(error)}`, remedy);
  } finally {
    redis.disconnect();
  }
};

const examineBackups = async ({ backups }: Config): Promise<Found> => {
  const remedy = 'Set BACKUP_DIR, or schedule "linklog backup --keep 14 FOLDER"';
  if (!backups) return warning('no backups are scheduled here', remedy);
  const newest = await newestBackup(backups.dir);
  const seen = 'The log has the reason: "the backup failed"';
  if (newest === 0) return failed(`no verified backup in ${backups.dir}`, seen);
  const hours = Math.round((Date.now() - newest) / 3_600_000);
  const text = `the newest backup in ${backups.dir} is ${hours} h old`;
  return Date.now() - newest > 1.5 * backups.everyMs ? failed(text, seen) : ok(text);
};

/** What can be examined without the database. */
export const examineMachine = (config: Config): Promise<readonly Finding[]> => {
  const { dataDir, spool, backups, redisUrl } = config;
  const dirs = new Set([dataDir, spool.root, ...(backups ? [backups.dir] : [])]);
  return runAll({
    disk: async () => (await Promise.all([...dirs].map(examineDisk))).flat(),
    files: () => {
      const limit = fileDescriptorLimit();
      const text = `the limit of open files is ${limit ?? 'unknown'}`;
      const remedy = 'Raise it: LimitNOFILE of systemd, --ulimit nofile of Docker, ulimit -n';
      return Promise.resolve(limit !== null && limit < 4_096 ? warning(text, remedy) : ok(text));
    },
    'short URLs': () => examineShortUrls(config),
    ...(redisUrl !== null && { redis: () => examineRedis(redisUrl) }),
    backup: () => examineBackups(config),
  });
};

interface ServerRow {
  readonly version: string;
  readonly time: number;
  readonly unsafe: readonly string[] | null;
  readonly used: number;
  readonly max: number;
  readonly replicas: number;
  readonly behindBytes: number | null;
}

const examineServer = async (pool: Pool): Promise<readonly Found[]> => {
  const sentAt = Date.now();
  const { rows } = await pool.query<ServerRow>(
    `SELECT current_setting('server_version') AS version,
       (1_000 * extract(epoch FROM clock_timestamp()))::float8 AS time,
       (SELECT array_agg(name) FROM pg_settings WHERE setting = 'off'
        AND name IN ('fsync', 'full_page_writes', 'synchronous_commit')) AS unsafe,
       (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
       current_setting('max_connections')::int AS max,
       (SELECT count(*)::int FROM pg_stat_replication) AS replicas,
       (SELECT max(pg_wal_lsn_diff(sent_lsn, replay_lsn))::float8 FROM pg_stat_replication) AS "behindBytes"`,
  );
  const [server] = rows;
  if (!server) return [];
  const { version, time, unsafe, used, max, replicas, behindBytes } = server;
  const skewMs = (sentAt + Date.now()) / 2 - time;
  const skew = `the clock of this machine differs from PostgreSQL's by ${Math.round(skewMs)} ms`;
  const connections = `${used} of ${max} connections are in use`;
  const behind = `${replicas} replicas, at most ${Math.round((behindBytes ?? 0) / 1e6)} MB behind`;
  return [
    ok(`PostgreSQL ${version}`),
    Math.abs(skewMs) > 5_000 ? failed(skew, 'Start NTP (chrony) on both machines') : ok(skew),
    ...(unsafe ?? []).map((name) =>
      failed(`${name} is off: acknowledged changes can be lost`, `Set ${name} = on`),
    ),
    used > 0.9 * max ? warning(connections, 'Raise max_connections') : ok(connections),
    (behindBytes ?? 0) > 100e6
      ? warning(behind, 'Check the replicas and their network')
      : ok(behind),
  ];
};

const examineProcesses = async (pool: Pool): Promise<readonly Found[]> => {
  const { rows } = await pool.query<{ version: string; services: string; processes: number }>(
    `SELECT version, services, count(*)::int AS processes FROM public.processes
     WHERE last_seen_at > clock_timestamp() - interval '15 seconds' GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const running = rows.flatMap(({ services }) => services.split(', '));
  const versions = [...new Set(rows.map(({ version }) => version))];
  return [
    ...rows.map(({ version, services, processes }) =>
      ok(`${processes} of ${services}, version ${version}`),
    ),
    ...roles
      .filter((role) => !running.includes(role))
      .map((role) => failed(`no process of ${role}`, `Start it; its last log line has the reason`)),
    ...(versions.length > 1
      ? [warning(`versions ${versions.join(' and ')} are running`, 'Complete the upgrade')]
      : []),
  ];
};

const examineLog = async (findFaults: OpenedLog['findFaults']): Promise<readonly Found[]> => {
  const faults = await findFaults();
  const found = faults.map(({ kind, message }) => {
    const remedy = 'See ops/docs/runbook.md#linkloglogfaults';
    return kind === 'cut' || kind === 'extended'
      ? warning(message, remedy)
      : failed(message, remedy);
  });
  return found.length > 0 ? found : [ok('the log has all its topics and records')];
};

const examineTopics = async (
  topicSettings: OpenedLog['topicSettings'],
): Promise<readonly Found[]> =>
  (await topicSettings()).flatMap(({ name, replicas, config }) => {
    const fault = retentionFault(name, config);
    const inSync = Number(config.get('min.insync.replicas'));
    const stored = `${name} has ${replicas} replicas and min.insync.replicas=${inSync}`;
    return [
      ...(fault === null ? [] : [failed(fault, 'Set it in Kafka: records are deleted')]),
      ...(config.get('unclean.leader.election.enable') === 'true'
        ? [
            failed(
              `${name} allows unclean leaders: acknowledged events can be lost`,
              'Set unclean.leader.election.enable=false',
            ),
          ]
        : []),
      replicas < 3 || inSync < 2
        ? warning(stored, 'With 3 replicas and min.insync.replicas=2, a lost broker loses nothing')
        : ok(stored),
    ];
  });

const examineProjections = async (pool: Pool, log: OpenedLog['log']): Promise<readonly Found[]> => {
  const [status, missing] = await Promise.all([projectionStatus(pool, log), missingEvents(pool)]);
  const lost = missing.reduce((sum, { events }) => sum + events, 0);
  return [
    ...status.map(({ name, lag, deadLetters }) => {
      const text = `${name} is ${lag} events behind and has ${deadLetters} dead letters`;
      if (deadLetters > 0) return warning(text, `"linklog projections redrive ${name}"`);
      return lag > 100_000
        ? warning(text, 'See ops/docs/runbook.md#linklogprojectionbehind')
        : ok(text);
    }),
    lost > 0
      ? failed(`${lost} events are missing`, 'See ops/docs/runbook.md#linklogmissingevents')
      : ok('no event is missing'),
  ];
};

const examineSeals = async (pool: Pool): Promise<Found> => {
  const { rows } = await pool.query<{ key: boolean; unsealedSeconds: number | null }>(
    `SELECT EXISTS (SELECT FROM seals.keys WHERE retired_at IS NULL) AS key,
       extract(epoch FROM clock_timestamp() - min(tail_since))::float8 AS "unsealedSeconds" FROM seals.chains`,
  );
  const { key = false, unsealedSeconds = null } = rows[0] ?? {};
  if (!key) return warning('the log is not sealed', 'Set SEAL_KEY_FILE; see ops/docs/seals.md');
  const late = unsealedSeconds !== null && unsealedSeconds > 600;
  return late
    ? failed('events wait for their seal for more than 10 minutes', 'See ops/docs/seals.md')
    : ok('the log is sealed');
};

/** What is examined in the database. */
export const examineDatabase = ({
  pool,
  log,
  findFaults,
  topicSettings,
}: { readonly pool: Pool } & Pick<OpenedLog, 'log' | 'findFaults' | 'topicSettings'>): Promise<
  readonly Finding[]
> =>
  runAll({
    postgres: () => examineServer(pool),
    processes: () => examineProcesses(pool),
    log: () => examineLog(findFaults),
    topics: () => examineTopics(topicSettings),
    projections: () => examineProjections(pool, log),
    seals: () => examineSeals(pool),
    certificates: () => examineDomains(pool),
  });

export const examine = async (
  config: Config,
  database: Parameters<typeof examineDatabase>[0],
): Promise<DoctorReport> => {
  const found = await Promise.all([examineMachine(config), examineDatabase(database)]);
  return { findings: found.flat().slice(0, maxFindings) };
};
