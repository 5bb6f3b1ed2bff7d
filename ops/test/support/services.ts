import { rm } from 'node:fs/promises';
import type { Role } from '../../app/roles.js';
import { launch, mainFile, readyLine, temporaryDir, type RunningProcess } from './process.js';
import { within } from './waiting.js';

/** The product allows 10 s; the rest is for a busy machine. */
const stopWithinMs = 30_000;

export interface Service extends RunningProcess {
  readonly role: Role;
  /** The address of the ready line. */
  readonly api: string;
  readonly edge: string;
  readonly admin: string;
  /** Drains the process, and deletes its DATA_DIR. @throws if it does not exit with `exitCode` */
  stop(): Promise<void>;
}

/** Starts one service as a process with its own DATA_DIR, as docker-compose.yml does. */
export const startService = async (
  role: Role,
  env: Readonly<Record<string, string>>,
  /** The main file of another build. */
  program = mainFile,
): Promise<Service> => {
  const dataDir = await temporaryDir();
  const running = launch({ DATA_DIR: dataDir, ...env }, [program, role]);
  const { api = '', edge = '', admin = '' } = (await readyLine(running)) as Record<string, string>;
  return {
    ...running,
    ...{ role, api, edge, admin },
    async stop() {
      running.child.kill('SIGTERM');
      const { exitCode, signal, stderr } = await within(
        stopWithinMs,
        `${role} did not exit`,
        running.ended,
      );
      await rm(dataDir, { recursive: true, force: true });
      if (exitCode !== 0) throw new Error(`${role} exited with ${exitCode ?? signal}: ${stderr}`);
    },
  };
};
