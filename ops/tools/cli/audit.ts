import type { Command } from 'commander';
import type { Config } from '../../platform/config/config.js';
import { addAsOfCommand } from './audit/as-of.js';
import { addHistoryCommand } from './audit/history.js';
import { addReplayCommand } from './audit/replay.js';
import { addSealCommands } from './audit/seals.js';
import { addVerifyCommand } from './audit/verify.js';
import type { Answer } from './output.js';
import { addRebuildCommand } from './projections.js';

/** What the commands of analysts need: they read the database and the log, past the service. */
export interface AuditContext {
  readonly readConfig: () => Config;
  readonly print: (command: Command, answer: Answer) => void;
}

/** Adds `linklog audit …`: each command in a file of `audit/`, what it does in `ops/tools/audit/`. */
export const addAuditCommands = (program: Command, context: AuditContext): void => {
  const audit = program
    .command('audit')
    .helpCommand(false)
    .description('for analysts: replay the log, look back, prove what the numbers are');
  addReplayCommand(audit, context);
  addHistoryCommand(audit, context);
  addAsOfCommand(audit, context);
  addVerifyCommand(audit, context);
  addRebuildCommand(audit, context.readConfig, context.print);
  addSealCommands(audit, context);
};
