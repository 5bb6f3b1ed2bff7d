import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { startStack, type StackAddresses } from '../local/stack/stack.js';
import { maxBrokers, topology } from '../local/stack/parts.js';
import { ConfigError } from '../platform/errors.js';
import { readConfig, type Config } from '../config/config.js';
import { createLogger, logWarnings } from '../platform/logging.js';
import { endSignals, runToEnd } from '../platform/process/lifecycle.js';
import { adminTokenOf, openDataDir, sealKeyFileIn, type ServiceAddresses } from './data-dir.js';
import { printReady, printRestarted } from './ready-line.js';

const countUpTo =
  (max: number) =>
  (text: string): number => {
    const value = /^\d{1,2}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from 1 to ${max}.`);
  };

const count = countUpTo(16);

interface Options {
  readonly apis: number;
  readonly edges: number;
  readonly projectors: number;
  readonly brokers: number;
  readonly restart: boolean;
}

/** Returns `null` after it has printed the help. @throws ConfigError */
const readOptions = (args: readonly string[]): Options | null => {
  const program = new Command('npm run stack --')
    .description('Starts Kafka, PostgreSQL, Redis and the services, each in its own process.')
    .option('--apis <n>', 'command APIs', count, topology.api.count)
    .option('--edges <n>', 'redirect edges', count, topology.edge.count)
    .option('--projectors <n>', 'projectors', count, topology.projector.count)
    .option('--brokers <n>', 'Kafka brokers', countUpTo(maxBrokers), 1)
    .option('--no-restart', 'do not restart a process that exits')
    .addHelpText(
      'after',
      `
The environment variables are those of "npm start". With KAFKA_BROKERS, DATABASE_URL or REDIS_URL, the
existing server is used; with KAFKA_BROKERS, --brokers has no effect. API_PORT, EDGE_PORT and ADMIN_PORT
apply to the first service of each kind. The others listen on free ports, which the ready line lists.`,
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ outputError: () => undefined }); // `runToEnd` prints the error.
  try {
    return program.parse(args, { from: 'user' }).opts<Options>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw new ConfigError(error.message.replace(/^error: /, ''), { cause: error });
  }
};

/** The addresses that the command line uses: the first service of each kind. */
const published = (config: Config, addresses: StackAddresses): ServiceAddresses => ({
  api: addresses.apis[0] ?? '',
  edge: addresses.edges[0] ?? '',
  admin: addresses.admin,
  pid: process.pid,
  // The stack publishes only brokers that it has started itself.
  ...(config.kafka === null && { kafka: addresses.kafka }),
});

runToEnd(async () => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) return;
  const { apis, edges, projectors, brokers, restart } = options;
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  logWarnings(logger);
  const signals = endSignals(logger, config.drainDelayMs);
  const dataDir = await openDataDir(config.dataDir);
  try {
    const stack = await startStack(config, {
      counts: { api: apis, edge: edges, projector: projectors },
      brokers,
      adminToken: config.adminToken ?? adminTokenOf(config.dataDir),
      sealKeyFile: config.sealKeyFile ?? sealKeyFileIn(config.dataDir),
      restart,
      onRestarted: printRestarted,
      logger,
    });
    const { addresses, pids, firstKey } = stack;
    dataDir.publish(published(config, addresses));
    const [api = ''] = addresses.apis;
    printReady({ ...addresses, pids, pid: process.pid }, api, firstKey);
    void signals.notReady.then(stack.beginDraining);
    await signals.delayed;
    await stack.stop();
  } finally {
    dataDir.release();
  }
});
