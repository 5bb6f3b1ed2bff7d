import type { Command } from 'commander';
import type { Config } from '../platform/config.js';
import { addSealCommands } from './audit/seals.js';
import { addVerifyCommand } from './audit/verify.js';
import type { Answer } from './output.js';

/** What the commands of analysts need: they read the database and the log, past the service. */
export interface AuditSurroundings {
  readonly readConfig: () => Config;
  readonly print: (command: Command, answer: Answer) => void;
}

/** Adds `linklog audit …`: each command in a file of `audit/`, what it does in `ops/audit/`. */
export const addAuditCommands = (program: Command, surroundings: AuditSurroundings): void => {
  const audit = program
    .command('audit')
    .helpCommand(false)
    .description('for analysts: replay the log, look back, prove what the numbers are');
  addVerifyCommand(audit, surroundings);
  addSealCommands(audit, surroundings);
};
