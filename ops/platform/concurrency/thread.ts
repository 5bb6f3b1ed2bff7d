/** Worker threads: calls of their asynchronous methods, and their priority. */
import { platform, setPriority } from 'node:os';
import { parentPort, Worker, type WorkerOptions } from 'node:worker_threads';
import { ConfigError } from '../errors.js';
import { deferred, type Deferred } from './deferred.js';

type MethodsOf<Methods> = {
  readonly [Name in keyof Methods]: (...args: never[]) => Promise<unknown>;
};

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** The fields of an error. The structured clone of an error loses its name and code. */
interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: unknown;
  readonly cause: ErrorParts | undefined;
}

type Reply = { readonly id: number } & (
  { readonly result: unknown } | { readonly error: ErrorParts }
);

const partsOf = (error: unknown): ErrorParts => {
  const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error));
  // Some libraries use `null` as the cause of an error.
  const { code } = (error ?? {}) as { readonly code?: unknown };
  const isPlain = typeof code === 'string' || typeof code === 'number';
  return {
    ...{ name, message, stack },
    code: isPlain ? code : undefined,
    cause: cause === undefined || cause === null ? undefined : partsOf(cause),
  };
};

/** A ConfigError keeps its class, which determines the exit code of the process. */
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

  worker.on('message', (reply: Reply) => {
    const call = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ('error' in reply) call?.reject(errorOf(reply.error));
    else call?.resolve(reply.result);
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
    /** @throws the error of the method, as a ConfigError or an Error; the error that ended the thread */
    async call<Name extends keyof Methods & string>(
      name: Name,
      ...args: Parameters<Methods[Name]>
    ): Promise<Awaited<ReturnType<Methods[Name]>>> {
      if (end) throw end;
      lastId += 1;
      const outcome = deferred<unknown>();
      // First, because it throws if an argument cannot be cloned.
      worker.postMessage({ id: lastId, name, args } satisfies Call);
      waiting.set(lastId, outcome);
      return (await outcome.promise) as Awaited<ReturnType<Methods[Name]>>;
    },
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
    /** Resolves at its end, with the uncaught error if there was one. */
    ended: ended.promise,
    async terminate(): Promise<void> {
      await worker.terminate();
    },
  };
};

export type Thread<Methods extends MethodsOf<Methods>> = ReturnType<typeof startThread<Methods>>;

/** Serves the calls of the thread that started this one. */
export const serveCalls = <Methods extends MethodsOf<Methods>>(methods: Methods): void => {
  const port = parentPort;
  if (!port) throw new Error('serveCalls() was called outside a worker thread');
  const reply = (message: Reply): void => {
    port.postMessage(message);
  };
  const serve = async ({ id, name, args }: Call): Promise<void> => {
    try {
      reply({ id, result: await methods[name as keyof Methods](...(args as never[])) });
    } catch (error) {
      // The method failed, or its result cannot be cloned.
      reply({ id, error: partsOf(error) });
    }
  };
  port.on('message', (call: Call) => void serve(call));
};

/** Lowers the priority of this thread. Other systems than Linux have no thread priorities. */
export const lowerThreadPriority = (niceness: number): void => {
  if (platform() === 'linux') setPriority(niceness);
};
