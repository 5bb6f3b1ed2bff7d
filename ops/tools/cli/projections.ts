import { recordProjectionWork } from '../../../command-api/projections/handler.js';
import { projections } from '../../../projectors/projections.js';
import {
  projectionNames,
  type ProjectionName,
  type Projection,
} from '../../../projectors/runtime/projection.js';
import { rebuild as rebuildProjection, rollBack } from '../../../projectors/runtime/rebuild.js';
import { redrive as redriveProjection } from '../../../projectors/runtime/redrive.js';
import type { ProjectionWork } from '../../../schemas/events/catalogue.js';
import type { HealthResponse } from '../../../schemas/http/health.js';
import type { Config } from '../../config/config.js';
import { oneOf } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { runOnDatabase, withDatabase, type CommandDatabase } from './database.js';
import { secondsSince } from './long-work.js';
import { count, counted, table, type Answer } from './output.js';
import { actorName } from './service.js';

const projectionName = oneOf('projection', projectionNames);

const projectionOf = (name: ProjectionName): Projection => {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`projections.ts has no projection ${name}`);
  return found;
};

const statusOf = (health: HealthResponse): Answer => {
  const down = Object.entries(health.dependencies)
    .filter(([, { state }]) => state === 'down')
    .map(([name]) => name);
  const rows = health.projections.map(({ name, lag, deadLetters, parked }) => [
    name,
    lag === null ? '-' : count(lag),
    count(deadLetters),
    count(parked),
  ]);
  return {
    json: { projections: health.projections },
    text: table(['PROJECTION', 'LAG', 'DEAD LETTERS', 'PARKED'], rows),
    ...(health.status === 'fail' && {
      notice: `the service is not ready: ${down.join(' and ')} cannot be reached`,
      exitCode: 1,
    }),
  };
};

const setAside = (deadLetters: number, parked: number): string =>
  deadLetters + parked === 0
    ? ''
    : `; set aside: ${counted(deadLetters, 'dead letter')}, ${count(parked)} parked`;

const record = (
  ledger: CommandDatabase,
  projection: ProjectionName,
  work: ProjectionWork,
): Promise<unknown> =>
  recordProjectionWork(ledger, { projection, work }, { actor: actorName(), requestId: null });

const rebuild = async (config: Config, name: ProjectionName, back: boolean): Promise<Answer> => {
  const what = back ? 'rollback' : 'rebuild';
  const started = performance.now();
  const outcome = await runOnDatabase(
    config,
    {
      title: name,
      stopped: `the ${what} was stopped; the live projection ${name} is untouched`,
      ended:
        `the ${what} was ended at once; the projection ${name} is whole, and as it was ` +
        `unless the ${back ? 'previous' : 'rebuilt'} one had just taken its place`,
    },
    async (database) => {
      await record(database, name, back ? 'rollback' : 'rebuild');
      return (back ? rollBack : rebuildProjection)({ ...database, projection: projectionOf(name) });
    },
  );
  const { applied, repeats, deadLetters, parked } = outcome;
  const seconds = secondsSince(started);
  const events = applied + repeats + deadLetters + parked;
  const done = back
    ? `Put the previous ${name} back, after ${counted(events, 'event')} that it had not seen,`
    : `Rebuilt ${name}: ${counted(events, 'event')}`;
  return {
    json: { projection: name, rolledBack: back, events, seconds, ...outcome },
    text: `${done} in ${seconds.toFixed(2)} s${setAside(deadLetters, parked)}`,
  };
};

const redrive = async (config: Config, name: ProjectionName): Promise<Answer> => {
  const result = await withDatabase(config, async (database) => {
    await record(database, name, 'redrive');
    return redriveProjection({ ...database, projection: projectionOf(name) });
  });
  const { applied, repeats, remaining } = result;
  const nothing = applied + repeats + remaining === 0;
  return {
    json: { projection: name, ...result },
    text: nothing
      ? `There are no dead letters of ${name}`
      : `Redrove ${name}: ${count(applied)} applied, ${counted(repeats, 'repeat')} dropped, ` +
        `${count(remaining)} still set aside`,
  };
};

const names = `one of ${projectionNames.join(', ')}`;

/** Adds `rebuild` to the groups of operators and analysts. */
export const addRebuildCommand = (group: Command, { readConfig, print }: CommandContext): void => {
  group
    .command('rebuild')
    .description('build one again from the whole log, beside the live one, and put it in its place')
    .argument('<name>', names, projectionName)
    .option('--rollback', 'put back what was live before the last rebuild, caught up with the log')
    .notes(
      `
The service may run meanwhile. Ctrl-C leaves the live projection as it is. What was live is kept for
seven days: a rollback undoes a rebuild, and a second one undoes the first.

Examples:
  $ linklog ${group.name()} rebuild stats
  $ linklog ${group.name()} rebuild redirects --json
  $ linklog ${group.name()} rebuild stats --rollback`,
    )
    .action(async (name: ProjectionName, { rollback = false }: { readonly rollback?: boolean }) => {
      print(await rebuild(readConfig(), name, rollback));
    });
};

export const addProjectionCommands = (program: Command, context: CommandContext): void => {
  const { readConfig, connect, print } = context;
  const group = program
    .command('projections')
    .description('what is folded from the log: look at it, build it again');

  group
    .command('status')
    .description('how far each is behind the log, and what it has set aside')
    .examples(
      'projections status',
      "projections status --json | jq '.projections[] | select(.deadLetters > 0)'",
    )
    .action(async () => {
      print(statusOf(await (await connect()).health()));
    });

  addRebuildCommand(group, context);

  group
    .command('redrive')
    .description('try the dead letters of one once more, each subject in its order')
    .argument('<name>', names, projectionName)
    .examples('projections redrive stats')
    .action(async (name: ProjectionName) => {
      print(await redrive(readConfig(), name));
    });
};
