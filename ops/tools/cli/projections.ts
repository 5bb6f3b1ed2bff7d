import { recordProjectionWork } from '../../../command-api/projections/handler.js';
import { restartArchive } from '../../../projectors/log/archive/work.js';
import { projectionNames, projections } from '../../../projectors/projections.js';
import { archiveSchema, type Projection } from '../../../projectors/runtime/projection.js';
import { rebuild as rebuildProjection, rollBack } from '../../../projectors/runtime/rebuild.js';
import { redrive as redriveProjection } from '../../../projectors/runtime/redrive.js';
import type { ProjectionWork } from '../../../schemas/events/catalogue.js';
import { projectionHealth, type HealthResponse } from '../../../schemas/http/health.js';
import type { Config } from '../../config/config.js';
import { oneOf } from './arguments.js';
import type { AddCommands } from './command.js';
import { runOnDatabase, withDatabase, type CommandDatabase } from './database.js';
import { secondsSince } from './long-work.js';
import { count, counted, table, type Output } from './output.js';

const readerNames = [...projectionNames, archiveSchema] as const;
type ReaderName = (typeof readerNames)[number];

const readerName = oneOf('projection', readerNames);

const projectionOf = (name: string): Projection => {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`projections.ts has no projection ${name}`);
  return found;
};

const statusOf = (health: HealthResponse): Output => {
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
      notice: `the service is not ready: ${down.join(' and ')} down`,
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
  projection: ReaderName,
  work: ProjectionWork,
  actor: string,
): Promise<unknown> =>
  recordProjectionWork(ledger, { projection, work }, { actor, requestId: null });

/** The archive's process does the work. */
const restart = async (config: Config, work: ProjectionWork, actor: string): Promise<Output> => {
  const events = await withDatabase(config, async (database) => {
    await record(database, archiveSchema, work, actor);
    return restartArchive(database.pool, work);
  });
  return {
    json: { projection: archiveSchema, work, events },
    text: `The ${work} of the archive has begun: ${counted(events, 'event')} to read again`,
  };
};

const rebuild = async (
  config: Config,
  name: ReaderName,
  back: boolean,
  actor: string,
): Promise<Output> => {
  if (name === archiveSchema) return restart(config, back ? 'rollback' : 'rebuild', actor);
  const what = back ? 'rollback' : 'rebuild';
  const started = performance.now();
  const outcome = await runOnDatabase(
    config,
    {
      title: name,
      work: `the ${what}`,
      stopped: `the live projection ${name} is unchanged`,
      killed:
        `the projection ${name} is consistent, and unchanged ` +
        `unless the ${back ? 'previous' : 'rebuilt'} one was already live`,
    },
    async (database) => {
      await record(database, name, back ? 'rollback' : 'rebuild', actor);
      return (back ? rollBack : rebuildProjection)({ ...database, projection: projectionOf(name) });
    },
  );
  const { applied, repeats, deadLetters, parked } = outcome;
  const seconds = secondsSince(started);
  const events = applied + repeats + deadLetters + parked;
  const done = back
    ? `Rolled back ${name}, after catching up with ${counted(events, 'event')},`
    : `Rebuilt ${name}: ${counted(events, 'event')}`;
  return {
    json: { projection: name, rolledBack: back, events, seconds, ...outcome },
    text: `${done} in ${seconds.toFixed(2)} s${setAside(deadLetters, parked)}`,
  };
};

const redrive = async (config: Config, name: ReaderName, actor: string): Promise<Output> => {
  if (name === archiveSchema) return restart(config, 'redrive', actor);
  const result = await withDatabase(config, async (database) => {
    await record(database, name, 'redrive', actor);
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

const names = `one of ${readerNames.join(', ')}`;

/** Adds `rebuild` to the groups of operators and analysts. */
export const addRebuildCommand: AddCommands = (group, { readConfig, print, actor, confirm }) => {
  group
    .command('rebuild')
    .description('rebuild a projection from the log and swap it with the live one')
    .argument('<name>', names, readerName)
    .option('--rollback', 'restore the previous projection after it has caught up with the log')
    .confirmed()
    .notes(
      `
The service may run meanwhile. Ctrl-C leaves the live projection unchanged. The previous projection is kept for
seven days: a rollback undoes a rebuild, and a second rollback undoes the first. The service rebuilds the archive
itself: it writes the events that the archive lacks, and there is no rollback.

Examples:
  $ linklog ${group.name()} rebuild stats
  $ linklog ${group.name()} rebuild redirects --json
  $ linklog ${group.name()} rebuild stats --rollback`,
    )
    .action(async (name: ReaderName, { rollback = false }: { readonly rollback?: boolean }) => {
      const config = readConfig();
      await confirm({
        effect: rollback
          ? `The tables from before the last rebuild replace the projection ${name}`
          : name === archiveSchema
            ? 'The service reads the whole log again, and writes the events that the archive lacks'
            : `The projection ${name} is rebuilt from the whole log, and replaces the live one`,
      });
      print(await rebuild(config, name, rollback, actor()));
    });
};

export const addProjectionCommands: AddCommands = (program, context) => {
  const { readConfig, connect, print, actor } = context;
  const group = program.command('projections').description('show, rebuild and redrive projections');

  group
    .command('status')
    .description('show lag, dead letters and parked events')
    .examples(
      'projections status',
      "projections status --json | jq '.projections[] | select(.deadLetters > 0)'",
    )
    .action(async () => {
      const client = await connect();
      const health = await client.health();
      // The health report has no archive, and the list is unavailable while the service is not ready.
      const { projections: readers } =
        health.status === 'fail' ? health : await client.get('listProjections');
      print(statusOf({ ...health, projections: projectionHealth.array().parse(readers) }));
    });

  addRebuildCommand(group, context);

  group
    .command('redrive')
    .description('retry the dead letters of a projection, in order for each subject')
    .argument('<name>', names, readerName)
    .examples('projections redrive stats')
    .action(async (name: ReaderName) => {
      print(await redrive(readConfig(), name, actor()));
    });
};
