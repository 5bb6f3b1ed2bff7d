import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../../../platform/logging.js';
import { launch } from '../../../local/process/child.js';

const mainFile = fileURLToPath(new URL('./main.js', import.meta.url));

/** The double as a process, with its streams in a file. */
export const launchEventStore = async (file: string, port = 0) => {
  const child = await launch({
    name: 'the double of EventStoreDB',
    program: process.execPath,
    args: [mainFile, String(port), file],
    dir: path.dirname(file),
    logFile: null,
    logger: createLogger('silent'),
    tied: true,
  });
  const { stdout } = child.process;
  if (stdout === null) throw new Error('stdout of the double is not piped');
  const [line] = (await Promise.race([
    once(createInterface({ input: stdout }), 'line'),
    child.exited.then(() => {
      throw new Error('the double exited before it printed its port');
    }),
  ])) as [string];
  const bound = Number(line);
  return {
    port: bound,
    url: `esdb://127.0.0.1:${bound}?tls=false`,
    async kill(): Promise<void> {
      child.process.kill('SIGKILL');
      await child.exited;
    },
  };
};
