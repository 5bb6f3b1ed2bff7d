import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import type { PartKind, Pids } from '../../local/stack/parts.js';
import type { StackAddresses } from '../../local/stack/stack.js';
import { type EndedProcess, launch, readyLine, temporaryDir } from './process.js';
import { within } from './waiting.js';
import { kafkaPrograms } from './kafka.js';

/** Java, Maven and their caches need these variables. */
const { PATH = '', HOME = '' } = inheritedEnvironment();

/** The programs that start the stack. */
export const stackPrograms = [...kafkaPrograms, 'redis-server'];

/** Options for a short life: less compilation. */
export const briefJava = { JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' };

export const stackFile = fileURLToPath(new URL('../../app/stack.js', import.meta.url));

/** The product allows 10 s; the rest is for a busy machine. */
const stopWithinMs = 20_000;

/** The whole topology of `npm run stack`. */
export interface RunningStack extends StackAddresses {
  /** The pid of the supervisor. */
  readonly pid: number;
  readonly adminToken: string;
  readonly dataDir: string;
  /** The last pids of the parts. */
  readonly pids: Pids;
  /** The number of restarts of a part. */
  restarts(kind: PartKind, index: number): number;
  readonly stderr: () => string;
  /** Sends SIGTERM, and deletes DATA_DIR. */
  stop(): Promise<EndedProcess>;
}

interface Restarted {
  readonly service: PartKind;
  readonly index: number;
  readonly pid: number;
}

/** The restarts that a stack has printed. */
const restartsIn = (stdout: string): readonly Restarted[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{"event":"restarted"'))
    .map((line) => JSON.parse(line) as Restarted);

/** The last pids of the parts of a stack, by its ready line and output. */
export const pidsIn = (ready: unknown, stdout: string): Pids => {
  const pids = structuredClone((ready as { pids: Record<PartKind, number[]> }).pids);
  for (const { service, index, pid } of restartsIn(stdout)) pids[service][index] = pid;
  return pids;
};

/** Starts the stack on free ports and waits for its ready line. @throws with its last lines */
export const startStackProcess = async (
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<RunningStack> => {
  const dataDir = await temporaryDir();
  const running = launch({ PATH, HOME, ...briefJava, DATA_DIR: dataDir, ...env }, [
    stackFile,
    ...args,
  ]);
  const { child, ended, stdout, stderr } = running;
  const stop = async (): Promise<EndedProcess> => {
    child.kill('SIGTERM');
    try {
      return await within(stopWithinMs, 'the stack did not exit', ended);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  };
  try {
    const ready = (await readyLine(running)) as StackAddresses & {
      readonly pid: number;
    };
    return {
      ...ready,
      adminToken: (await readFile(path.join(dataDir, 'admin-token'), 'utf8')).trim(),
      dataDir,
      get pids() {
        return pidsIn(ready, stdout());
      },
      restarts: (kind, index) =>
        restartsIn(stdout()).filter((part) => part.service === kind && part.index === index).length,
      stderr,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};
