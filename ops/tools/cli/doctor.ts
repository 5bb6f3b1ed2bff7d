import { examineDatabase, examineMachine } from '../../app/doctor.js';
import type { Config } from '../../config/config.js';
import type { Finding } from '../../../schemas/http/doctor.js';
import type { AddCommands } from './command.js';
import { withDatabase } from './database.js';
import { messageOf } from './errors.js';
import { counted, plain } from './output.js';

const findAll = async (config: Config): Promise<readonly Finding[]> => {
  const [machine, database] = await Promise.all([
    examineMachine(config),
    withDatabase(config, examineDatabase, { needsLog: false }).catch(
      (error: unknown): readonly Finding[] => [
        {
          ...{ check: 'postgres', state: 'failed', text: messageOf(error) },
          remedy:
            'Start the service or PostgreSQL, and run the command with the variables of the service',
        },
      ],
    ),
  ]);
  return [...machine, ...database];
};

const lineOf = ({ check, state, text, remedy }: Finding): string => {
  const line = `${state.padEnd(7)}  ${check.padEnd(12)}  ${plain(text)}`;
  return remedy === null ? line : `${line}\n${' '.repeat(23)}${remedy}`;
};

export const addDoctorCommand: AddCommands = (program, { readConfig, print }) => {
  program
    .command('doctor')
    .description('examine this installation: disk, clock, PostgreSQL, log, backups, certificates …')
    .notes(
      `
Run it with the variables of the service. It changes nothing, and works without the service. The exit code
is 1 if a check failed.`,
    )
    .examples('doctor', `doctor --json | jq '.findings[] | select(.state != "ok")'`)
    .action(async () => {
      const findings = await findAll(readConfig());
      const count = (state: Finding['state']): number =>
        findings.filter((finding) => finding.state === state).length;
      print({
        json: { findings },
        text:
          `${findings.map(lineOf).join('\n')}\n\n` +
          `${counted(count('warning'), 'warning')}, ${count('failed')} failed`,
        exitCode: count('failed') > 0 ? 1 : 0,
      });
    });
};
