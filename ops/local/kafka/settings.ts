/** What of a broker's settings is not ours to choose. */
export interface BrokerPlace {
  readonly logDir: string;
  /** For clients, on 127.0.0.1. */
  readonly port: number;
  /** For the controller in the same process. */
  readonly controllerPort: number;
}

const fixed = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',

  // One broker has one replica of everything.
  'offsets.topic.replication.factor': '1',
  // 50 by default, to be spread over brokers: here, files to be made, and to be recovered after a kill.
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',

  // A topic is made with its partitions or not at all; a typing error is no topic.
  'auto.create.topics.enable': 'false',

  // Nobody else is about to join: a group of one need not wait 3 s.
  'group.initial.rebalance.delay.ms': '0',
  // A broker that was killed is let in again when its old registration has run out: 9 s by default.
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
} as const;

/** The content of a `server.properties`. */
export const serverProperties = ({ logDir, port, controllerPort }: BrokerPlace): string =>
  Object.entries({
    ...fixed,
    // In this format a backslash would escape what follows.
    'log.dirs': logDir.replaceAll('\\', '\\\\'),
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/** Java's compiler for short runs and its collector for small heaps: ready half a second sooner. */
const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

const classPath = (jars: string): string[] => ['-cp', `${jars}/*`];

/** A broker of a test lives for a minute: what it compiles well, it would not run often. */
export const brokerArguments = (jars: string, properties: string, brief: boolean): string[] => [
  '-Xms256m',
  '-Xmx512m',
  ...(brief ? quick : []),
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  ...classPath(jars),
  'kafka.Kafka',
  properties,
];

export const formatArguments = (
  jars: string,
  properties: string,
  clusterId: string,
): readonly string[] => [
  ...quick,
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  ...classPath(jars),
  'kafka.tools.StorageTool',
  'format',
  '--cluster-id',
  clusterId,
  '--config',
  properties,
];
