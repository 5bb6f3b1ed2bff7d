import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs the module as another process, sends it the task and returns its result; `started` gets its pid. */
export const runForked = async <Result>(
  moduleUrl: string,
  task: object,
  started: (pid: number | undefined) => void = () => undefined,
): Promise<Result> => {
  // JSON is slower than the load for the times of millions of responses.
  const child = fork(fileURLToPath(moduleUrl), [], {
    stdio: 'inherit',
    serialization: 'advanced',
  });
  started(child.pid);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${moduleUrl} ended with ${String(code)} before its result`);
  });
  // It rejects after the race, when the child is killed.
  ended.catch(() => undefined);
  try {
    child.send(task);
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [Result];
    return result;
  } finally {
    child.kill();
  }
};

/** The other side of `runForked`: does nothing if the module is only imported. */
export const serveForked = (moduleUrl: string, run: (task: never) => Promise<object>): void => {
  if (!process.send || process.argv[1] !== fileURLToPath(moduleUrl)) return;
  // The listener keeps the process alive until the parent kills it.
  process.on('message', (task) => {
    void run(task as never).then((result) => process.send?.(result));
  });
};
