import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { kill } from 'node:process';
import { promisify } from 'node:util';
import { nullOn } from '../../platform/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import { sendRequest } from '../support/http.js';
import { eventually } from '../support/waiting.js';

const run = promisify(execFile);
const maxBuffer = 64 * 1_024 ** 2;

/** Runs `docker` to its end. @returns stdout without the last line end @throws if it fails */
export const docker = async (...args: readonly string[]): Promise<string> =>
  (await run('docker', args, { cwd: projectFile(), maxBuffer })).stdout.trimEnd();

interface EndedContainer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs `docker` to its end, which may be a failure. */
export const tryDocker = async (
  args: readonly string[],
  input?: Buffer,
): Promise<EndedContainer> => {
  const child = spawn('docker', args, { cwd: projectFile() });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.end(input);
  const [exitCode] = (await once(child, 'close')) as [number];
  return { exitCode, stdout: Buffer.concat(stdout), stderr };
};

/** The Node image without its digest, because a locally built image has another one. */
export const nodeImage = async (): Promise<string> => {
  const dockerfile = await readFile(projectFile('ops', 'Dockerfile'), 'utf8');
  const [, image] = /^ARG NODE=(.+)@/m.exec(dockerfile) ?? [];
  if (image === undefined) throw new Error('ops/Dockerfile names no image of Node.js');
  return image;
};

/** Builds an image of the Dockerfile in the context. */
export const buildImage = async (tag: string, context = '.'): Promise<void> => {
  const dockerfile = context === '.' ? 'ops/Dockerfile' : `${context}/ops/Dockerfile`;
  const node = `NODE=${await nodeImage()}`;
  await docker(
    'build',
    '--quiet',
    '--tag',
    tag,
    '--build-arg',
    node,
    '--file',
    dockerfile,
    context,
  );
};

/** Kills (-9) all processes of a container. `docker kill` would also disable its restart policy. */
export const killContainer = async (name: string): Promise<void> => {
  const pid = Number(await docker('inspect', '--format', '{{.State.Pid}}', name));
  if (pid > 0) kill(pid, 'SIGKILL');
};

/** The address on the host of a published port. */
export const publishedAt = async (container: string, port: number): Promise<string> => {
  const [address = ''] = (await docker('port', container, String(port))).split('\n');
  return `http://${address}`;
};

export const stateOf = (container: string): Promise<string> =>
  docker('inspect', '--format', '{{.State.Status}} {{.State.ExitCode}}', container);

/** Waits until the API answers; containers report health with the delay of the interval. */
export const untilReady = (api: string, withinMs = 60_000): Promise<void> =>
  eventually(
    `${api} is ready`,
    async () => {
      const response = await nullOn(
        sendRequest(`${api}/health/ready`),
        ...['ECONNREFUSED', 'ECONNRESET'],
      );
      return response?.status === 200;
    },
    withinMs,
  );

/** Runs commands of the runbook after the functions of a form. */
export const expectToRun = async (functions: string, commands: string): Promise<void> => {
  const child = spawn('bash', ['-ec', `${functions}\n${commands}`], { cwd: projectFile() });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const [exitCode] = (await once(child, 'close')) as [number];
  // 1: grep found nothing, because nothing is wrong.
  const accepted = commands.includes('grep') ? [0, 1] : [0];
  if (!accepted.includes(exitCode))
    throw new Error(`exit code ${exitCode}: ${commands}\n${output}`);
};
