import { addAsOfCommand } from './as-of/command.js';
import { addHistoryCommand } from './history/command.js';
import { addReplayCommand } from './replay/command.js';
import { addSealCommands } from './seals/command.js';
import { addVerifyCommand } from './verify/command.js';
import type { AddCommands } from '../cli/command.js';
import { addRebuildCommand } from '../cli/projections.js';

/** These commands read the database and the log directly, without the service. */
export const addAuditCommands: AddCommands = (program, context) => {
  const audit = program.command('audit').description('for analysts: replay and verify the log');
  addReplayCommand(audit, context);
  addHistoryCommand(audit, context);
  addAsOfCommand(audit, context);
  addVerifyCommand(audit, context);
  addRebuildCommand(audit, context);
  addSealCommands(audit, context);
};
