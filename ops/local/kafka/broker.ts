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

  // 50 by default, to be spread over brokers: here, files to be made, and to be recovered after a kill.
  'offsets.topic.num.partitions': '1',

  // A topic is made with its partitions or not at all; a typing error is no topic.
  'auto.create.topics.enable': 'false',
  // A replica that is not in sync lacks acknowledged records.
  'unclean.leader.election.enable': 'false',

  // Nobody else is about to join: a group of one need not wait 3 s.
  'group.initial.rebalance.delay.ms': '0',
  // A broker that was killed is let in again when its old registration has run out: 9 s by default.
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
} as const;

/** What a test adds to a broker: listeners with authentication or TLS, and their properties. */
export interface BrokerExtras {
  /** The ports of additional listeners on 127.0.0.1, by the listener's name. */
  readonly extraListeners?: Readonly<Record<string, number>>;
  /** Lines of `server.properties`; they override ours. */
  readonly extraProperties?: Readonly<Record<string, string>>;
  /** SCRAM credentials of a new cluster, such as `SCRAM-SHA-256=[name=alice,password=secret]`. */
  readonly scramUsers?: readonly string[];
}

const listenersAt = (ports: Readonly<Record<string, number>>): string =>
  Object.entries(ports)
    .map(([name, port]) => `${name}://127.0.0.1:${port}`)
    .join(',');

const replicasAtMost = 3;

/** The ports of a broker on 127.0.0.1. */
export interface BrokerPorts {
  /** For clients. */
  readonly client: number;
  /** Where clients are sent: to `client`, or to a proxy before it. */
  readonly advertised: number;
  /** For the other brokers. */
  readonly internal: number;
  /** For the controllers of the cluster. */
  readonly controller: number;
}

/** The content of a `server.properties`. A broker is also a controller; its id is its index from 1. */
export const serverProperties = (
  logDir: string,
  index: number,
  cluster: readonly BrokerPorts[],
  { extraListeners = {}, extraProperties = {} }: BrokerExtras = {},
): string => {
  const own = cluster[index];
  if (own === undefined) throw new Error(`the cluster has ${cluster.length} brokers, not ${index}`);
  const { client, advertised, internal, controller } = own;
  const replicas = Math.min(cluster.length, replicasAtMost);
  const minInSync = String(Math.max(1, replicas - 1));
  return Object.entries({
    ...fixed,
    'node.id': String(index + 1),
    'offsets.topic.replication.factor': String(replicas),
    'transaction.state.log.replication.factor': String(replicas),
    'transaction.state.log.min.isr': minInSync,
    'min.insync.replicas': minInSync,
    // In this format a backslash would escape what follows.
    'log.dirs': logDir.replaceAll('\\', '\\\\'),
    listeners: listenersAt({
      PLAINTEXT: client,
      INTERNAL: internal,
      CONTROLLER: controller,
      ...extraListeners,
    }),
    'advertised.listeners': listenersAt({
      PLAINTEXT: advertised,
      INTERNAL: internal,
      ...extraListeners,
    }),
    'controller.quorum.voters': cluster
      .map((broker, voter) => `${voter + 1}@127.0.0.1:${broker.controller}`)
      .join(','),
    ...extraProperties,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
};

/** Java's compiler for short runs and its collector for small heaps: ready half a second sooner. */
const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

/** A broker of a test lives for a minute: what it compiles well, it would not run often. */
export const brokerArguments = (jars: string, properties: string, brief: boolean): string[] => [
  '-Xms256m',
  '-Xmx512m',
  ...(brief ? quick : []),
  logging,
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  ...['-cp', `${jars}/*`],
  'kafka.Kafka',
  properties,
];

const javaWanted = (why: string, cause: unknown): ServerUnavailable =>
  new ServerUnavailable(
    `Kafka needs Java 17 or newer, and java is ${why}; install one (apt-get install default-jre-headless), or set KAFKA_BROKERS to a Kafka of your own`,
    { cause },
  );

/** What a failure of `java` means for the person who started us, where that is known. */
export const explainJava = (error: unknown): unknown => {
  if (hasCode(error, 'ENOENT')) return javaWanted('not in PATH', error);
  if (error instanceof Error && error.message.includes('UnsupportedClassVersionError'))
    return javaWanted('an older one', error);
  return error;
};

/** The id of the cluster whose data this folder has; null where there are none yet. */
export const clusterIdOf = async (logDir: string): Promise<string | null> => {
  const meta = await nullOn(readFile(join(logDir, 'meta.properties'), 'utf8'), 'ENOENT');
  return /^cluster\.id=(.+)$/m.exec(meta ?? '')?.[1] ?? null;
};

/** As Kafka makes them itself: 16 bytes; a leading hyphen would look like an option. */
export const newClusterId = (): string => {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
};

/** Makes the data of a broker of this cluster. `meta.properties` comes last, so a kill leaves no half-made one. */
export const formatStorage = async (
  clusterId: string,
  dir: string,
  jars: string,
  properties: string,
  scramUsers: readonly string[] = [],
): Promise<void> => {
  const java = [...quick, logging, '-cp', `${jars}/*`, 'kafka.tools.StorageTool', 'format'];
  const args = [...java, '--cluster-id', clusterId, '--config', properties];
  for (const user of scramUsers) args.push('--add-scram', user);
  await runToSuccess(null, 'java', args, {
    dir,
    env: inheritedEnvironment(),
    failure: 'Kafka could not make its data directory',
    explain: explainJava,
  });
};
