import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inheritedEnvironment } from '../../config/config.js';
import { hasCode, nullOn } from '../../platform/errors.js';
import { runToSuccess } from '../process/child.js';
import { ServerUnavailable } from '../process/errors.js';

const fixed = {
  'process.roles': 'broker,controller',
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'INTERNAL',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',

  // The default of 50 would only add files to create, and to recover after a kill.
  'offsets.topic.num.partitions': '1',

  // Topics are created explicitly, with their partitions; a mistyped name must not create one.
  'auto.create.topics.enable': 'false',
  // An out-of-sync replica lacks acknowledged records.
  'unclean.leader.election.enable': 'false',

  // Consumer groups have one member, which need not wait 3 s for others.
  'group.initial.rebalance.delay.ms': '0',
  // A killed broker can register again only after its session has timed out (9 s by default).
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
} as const;

/**
 * With several brokers, a POST waits up to 1.5 s for the log. Until the session of a killed broker times out, it is the
 * leader of its partitions, and every other leader waits for its replica. If it was the active controller, the others
 * first elect another one, which starts all sessions again.
 */
const fastFailover = {
  'broker.session.timeout.ms': '1200',
  'broker.heartbeat.interval.ms': '200',
  // The defaults are 2 s, 1 s and 1 s. A follower fetches every 0.5 s.
  'controller.quorum.fetch.timeout.ms': '1000',
  'controller.quorum.election.timeout.ms': '500',
  'controller.quorum.election.backoff.max.ms': '200',
} as const;

type Properties = Readonly<Record<string, string>>;

export interface BrokerExtras {
  /** Changes the properties: tests add listeners with authentication or TLS, or advertise proxies. */
  readonly change?: (properties: Properties) => Properties;
  /** SCRAM credentials of a new cluster, such as `SCRAM-SHA-256=[name=alice,password=secret]`. */
  readonly scramUsers?: readonly string[];
}

const listenersAt = (ports: Readonly<Record<string, number>>): string =>
  Object.entries(ports)
    .map(([name, port]) => `${name}://127.0.0.1:${port}`)
    .join(',');

const maxReplicas = 3;

export interface BrokerPorts {
  readonly client: number;
  readonly internal: number;
  readonly controller: number;
}

/** Returns the content of a `server.properties`. A broker is also a controller; its id is its index + 1. */
export const serverProperties = (
  logDir: string,
  index: number,
  cluster: readonly BrokerPorts[],
  { change = (properties) => properties }: BrokerExtras = {},
): string => {
  const own = cluster[index];
  if (!own) throw new Error(`broker ${index} was requested of ${cluster.length} brokers`);
  const { client, internal, controller } = own;
  const ports = { PLAINTEXT: client, INTERNAL: internal };
  const replicas = Math.min(cluster.length, maxReplicas);
  const minInSync = String(Math.max(1, replicas - 1));
  const properties = change({
    ...fixed,
    ...(cluster.length > 1 && fastFailover),
    'node.id': String(index + 1),
    'offsets.topic.replication.factor': String(replicas),
    'transaction.state.log.replication.factor': String(replicas),
    'transaction.state.log.min.isr': minInSync,
    'min.insync.replicas': minInSync,
    // A backslash is the escape character of this format.
    'log.dirs': logDir.replaceAll('\\', '\\\\'),
    listeners: listenersAt({ ...ports, CONTROLLER: controller }),
    'advertised.listeners': listenersAt(ports),
    'controller.quorum.voters': cluster
      .map((broker, voter) => `${voter + 1}@127.0.0.1:${broker.controller}`)
      .join(','),
  });
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
};

/** The C1 compiler and the serial collector: the process is ready 0.5 s sooner. */
const fastStartOptions = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

/** @param brief whether the broker lives for a minute only, as in a test: C2 would not pay off */
export const brokerArguments = (jars: string, properties: string, brief: boolean): string[] => [
  '-Xms256m',
  '-Xmx512m',
  ...(brief ? fastStartOptions : []),
  logging,
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  ...['-cp', `${jars}/*`, 'kafka.Kafka', properties],
];

const javaRequired = (why: string, cause: unknown): ServerUnavailable =>
  new ServerUnavailable(
    `Kafka requires Java 17 or newer, but java is ${why}; install it (apt-get install default-jre-headless), or set KAFKA_BROKERS to an existing Kafka`,
    { cause },
  );

/** Replaces known failures of `java` by an error with a remedy. */
export const explainJava = (error: unknown): unknown => {
  if (hasCode(error, 'ENOENT')) return javaRequired('not in PATH', error);
  if (error instanceof Error && error.message.includes('UnsupportedClassVersionError'))
    return javaRequired('an older version', error);
  return error;
};

/** Returns the cluster id of the data in this directory; null if there is none yet. */
export const clusterIdOf = async (logDir: string): Promise<string | null> => {
  const meta = await nullOn(readFile(join(logDir, 'meta.properties'), 'utf8'), 'ENOENT');
  return /^cluster\.id=(.+)$/m.exec(meta ?? '')?.[1] ?? null;
};

/** Kafka's own format: 16 bytes in base64url. A leading hyphen would be parsed as an option. */
export const newClusterId = (): string => {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
};

/** Formats a broker's data directory. `meta.properties` is written last, so a kill leaves no partial format. */
export const formatStorage = async (
  clusterId: string,
  dir: string,
  jars: string,
  properties: string,
  scramUsers: readonly string[] = [],
): Promise<void> => {
  const java = [
    ...fastStartOptions,
    logging,
    '-cp',
    `${jars}/*`,
    'kafka.tools.StorageTool',
    'format',
  ];
  const args = [...java, '--cluster-id', clusterId, '--config', properties];
  for (const user of scramUsers) args.push('--add-scram', user);
  await runToSuccess(null, 'java', args, {
    dir,
    env: inheritedEnvironment(),
    failure: 'Kafka could not format its data directory',
    explain: explainJava,
  });
};
