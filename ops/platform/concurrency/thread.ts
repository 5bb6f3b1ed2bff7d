/**
 * A worker thread as an object of asynchronous methods: the thread answers calls, and whoever started it calls.
 * Arguments and results are cloned, but for shared memory.
 */
import { parentPort, Worker, type WorkerOptions } from 'node:worker_threads';
import { ConfigError } from '../process/config-error.js';
import { deferred, type Deferred } from './deferred.js';

type MethodsOf<Methods> = {
  readonly [Name in keyof Methods]: (...args: never[]) => Promise<unknown>;
};

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Of an error, what a clone would lose: its name and its code. */
interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: unknown;
  readonly cause: ErrorParts | undefined;
}

type Answer = { readonly id: number } & (
  { readonly result: unknown } | { readonly error: ErrorParts }
);

const partsOf = (error: unknown): ErrorParts => {
  const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error));
  const { code } = error as { readonly code?: unknown };
  const isPlain = typeof code === 'string' || typeof code === 'number';
  return {
    ...{ name, message, stack },
    code: isPlain ? code : undefined,
    cause: cause === undefined ? undefined : partsOf(cause),
  };
};

/** A wrong configuration keeps its class, which a process's exit code goes by. */
const errorOf = ({ message, cause, name, stack, code }: ErrorParts): Error => {
  const Kind = code === 'CONFIG' ? ConfigError : Error;
  return Object.assign(new Kind(message, cause && { cause: errorOf(cause) }), {
    ...{ name, stack },
    ...(code !== undefined && { code }),
  });
};

/** Starts a thread, which does not keep the process alive. */
export const startThread = <Methods extends MethodsOf<Methods>>(
  program: URL,
  options: WorkerOptions = {},
) => {
  const worker = new Worker(program, options);
  const waiting = new Map<number, Deferred<unknown>>();
  const ended = deferred<Error>();
  let lastId = 0;
  let end: Error | null = null;

  worker.on('message', (answer: Answer) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) call?.reject(errorOf(answer.error));
    else call?.resolve(answer.result);
  });
  worker.once('error', (error: unknown) => {
    end = error instanceof Error ? error : new Error(String(error));
  });
  worker.once('exit', (code) => {
    end ??= new Error(`The thread ended with code ${code}`);
    ended.resolve(end);
    for (const { reject } of waiting.values()) reject(end);
    waiting.clear();
  });
  worker.unref();

  return {
    /** @throws what the method throws, as a ConfigError or an Error; the failure that the thread ends with */
    async call<Name extends keyof Methods & string>(
      name: Name,
      ...args: Parameters<Methods[Name]>
    ): Promise<Awaited<ReturnType<Methods[Name]>>> {
      if (end) throw end;
      lastId += 1;
      const outcome = deferred<unknown>();
      // First, since it throws where an argument cannot be cloned.
      worker.postMessage({ id: lastId, name, args } satisfies Call);
      waiting.set(lastId, outcome);
      return (await outcome.promise) as Awaited<ReturnType<Methods[Name]>>;
    },
    /** Whether it takes calls. */
    get isRunning(): boolean {
      return end === null;
    },
    /** Keeps the process alive until `unref`. */
    ref(): void {
      worker.ref();
    },
    unref(): void {
      worker.unref();
    },
    /** Resolves at its end, with what it did not catch where that was the reason. */
    ended: ended.promise,
    async terminate(): Promise<void> {
      await worker.terminate();
    },
  };
};

export type Thread<Methods extends MethodsOf<Methods>> = ReturnType<typeof startThread<Methods>>;

/** Answers the calls of whoever started this thread. */
export const answerCalls = <Methods extends MethodsOf<Methods>>(methods: Methods): void => {
  const port = parentPort;
  if (!port) throw new Error('This file is for a worker thread');
  const tell = (answer: Answer): void => {
    port.postMessage(answer);
  };
  const answer = async ({ id, name, args }: Call): Promise<void> => {
    try {
      tell({ id, result: await methods[name as keyof Methods](...(args as never[])) });
    } catch (error) {
      // Of the method, or of a result that cannot be cloned.
      tell({ id, error: partsOf(error) });
    }
  };
  port.on('message', (call: Call) => void answer(call));
};
