import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { ConfigError, readConfig } from '../../platform/config/config.js';
import { createLogger } from '../../platform/logging.js';
import { endSignal, runToEnd } from '../../app/process.js';
import { welcome } from '../../app/welcome.js';
import { startStack } from './stack.js';
import { topology } from './topology.js';

const most = 16;

const count = (text: string): number => {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw new InvalidArgumentError(`It must be a number from 1 to ${most}.`);
};

interface Options {
  readonly apis: number;
  readonly edges: number;
  readonly projectors: number;
  readonly restart: boolean;
}

/** `null`: it has told what there is to tell. @throws ConfigError */
const readOptions = (args: readonly string[]): Options | null => {
  const program = new Command('npm run stack --')
    .description(
      'Starts Kafka, PostgreSQL and Redis, and the services on them, each as a process of its own.',
    )
    .option('--apis <n>', 'command APIs', count, topology.api.count)
    .option('--edges <n>', 'redirect edges', count, topology.edge.count)
    .option('--projectors <n>', 'projectors', count, topology.projector.count)
    .option('--no-restart', 'leave dead what dies')
    .addHelpText(
      'after',
      `
The variables are those of "npm start". Of Kafka, PostgreSQL and Redis those are used as they are whose
address is set (KAFKA_BROKERS, DATABASE_URL, REDIS_URL). API_PORT, EDGE_PORT and ADMIN_PORT are the first
ones' of their kind; the others get any free port, and say so in the ready line.`,
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ outputError: () => undefined }); // It is told once, at the end.
  try {
    return program.parse(args, { from: 'user' }).opts<Options>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw new ConfigError(error.message.replace(/^error: /, ''), { cause: error });
  }
};

const say = (event: string, details: object): void => {
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);
};

runToEnd(async () => {
  const options = readOptions(process.argv.slice(2));
  if (options === null) return;
  const { apis, edges, projectors, restart } = options;
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  const ended = endSignal(logger);
  const stack = await startStack(config, {
    counts: { api: apis, edge: edges, projector: projectors },
    restart,
    onRestarted: (restarted) => {
      say('restarted', restarted);
    },
    logger,
  });
  const { addresses, pids, firstKey } = stack;
  if (firstKey !== null) process.stdout.write(welcome(addresses.apis[0] ?? '', firstKey));
  const { pid } = process;
  say('ready', { ...addresses, pids, pid, ...(firstKey !== null && { firstKey }) });
  await ended;
  await stack.stop();
});
