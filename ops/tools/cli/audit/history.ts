import type { Command } from 'commander';
import { lifeOf, tallyVisits } from '../../audit/history.js';
import type { Config } from '../../../platform/config/config.js';
import type { AuditContext } from '../audit.js';
import { withDatabase } from '../database.js';
import { CliError } from '../errors.js';
import { interruptible } from '../interruption.js';
import { appendToStdout } from './stdout.js';
import { inJson, inWords } from './timeline.js';
import { RecordsLeftOut, reportUnreadable } from './unreadable.js';

interface Options {
  readonly visits?: true;
  readonly json?: true;
}

const shortCode = (code: string): string => {
  if (code === '') throw new CliError('USAGE', 'the short code is empty');
  return code;
};

const history = async (config: Config, code: string, options: Options): Promise<void> => {
  const timeline = options.json ? inJson(code) : inWords;
  const unreadable = reportUnreadable();
  const words = {
    message: 'the history was stopped before its end',
    lastWords: 'the history was ended at once',
  };
  await interruptible(words, (signal) =>
    withDatabase(config, async ({ log }) => {
      const append = appendToStdout(signal);
      const visits = tallyVisits();
      let known = false;
      try {
        const life = lifeOf(code, { log, onUnreadable: unreadable.take, signal });
        for await (const events of life) {
          if (!known) await append(timeline.head);
          known = true;
          let text = '';
          for (const event of events) {
            const isVisit = event.type === 'linklog.LinkVisited.v1';
            if (isVisit) visits.add(event);
            if (!isVisit || options.visits) text += timeline.event(event);
          }
          await append(text);
        }
        if (known) await append(timeline.end(visits.summary()));
      } catch (error) {
        // Who ended a wait said why.
        signal.throwIfAborted();
        throw error;
      }
      if (!known && unreadable.count() === 0) {
        throw new CliError('REFUSED', `the log has no link ${JSON.stringify(code)}`);
      }
    }),
  );
  const notice = unreadable.summary();
  if (notice !== undefined) throw new RecordsLeftOut(notice);
};

/** Adds `linklog audit history`. */
export const addHistoryCommand = (group: Command, { readConfig }: AuditContext): void => {
  group
    .command('history')
    .description("one link's life from the log alone: what was done to it, by whom, and its visits")
    .argument('<code>', 'its short code', shortCode)
    .option('--visits', 'each visit in its place, not only how many a day')
    .addHelpText(
      'after',
      `
Times are UTC. Clicks are visits that were redirected, those of bots apart. With --json: one object,
{shortCode, events: [CloudEvent…], visits: {clicks, bots, first, last, days: [{day, clicks, bots}…]}}.

Examples:
  $ linklog audit history spring-sale
  $ linklog audit history spring-sale --visits
  $ linklog audit history spring-sale --json | jq '.visits.days'`,
    )
    .action(async (code: string, _options: object, command: Command) => {
      await history(readConfig(), code, command.optsWithGlobals<Options>());
    });
};
