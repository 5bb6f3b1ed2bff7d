/** The methods of the operations of the OpenAPI document. */
import { objectsOf } from './lines.js';
import { List } from './list.js';
import { methods, operations, type Methods } from './operations.js';
import type { ChangeOptions, CreateOptions, Operation } from './options.js';
import type { ImportFile } from './standards.js';
import type { Transport } from './transport.js';

type AllOptions = ChangeOptions & CreateOptions;

/** `randomUUID` exists only in secure contexts of browsers. */
const randomKey = (): string =>
  crypto.getRandomValues(new Uint32Array(4)).reduce((key, number) => key + number.toString(36), '');

const headersOf = ({ isIdempotent, hasVersion }: Operation, options: AllOptions) => {
  // The API ignores empty headers.
  const { idempotencyKey = '', ifMatch = '' } = options;
  const version = typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch;
  return {
    ...(isIdempotent && { 'Idempotency-Key': idempotencyKey || randomKey() }),
    ...(hasVersion && version !== '' && { 'If-Match': version }),
  };
};

/** A body for `fetch`. */
const toBody = (file: ImportFile): string | object => {
  if (typeof file === 'string' || 'getReader' in file || !(Symbol.asyncIterator in file)) {
    return file;
  }
  const iterator = file[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
};

/** A method. Its arguments: the parameters of the path, the body, the query, the options. */
const methodOf =
  (transport: Transport, operation: Operation) =>
  (...args: unknown[]): unknown => {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const path = Object.fromEntries(names.map((name) => [name, args.shift()]));
    const sent = operation.body === undefined ? undefined : (args.shift() ?? {});
    const body = operation.body === 'file' ? toBody(sent as ImportFile) : JSON.stringify(sent);
    const parameters = operation.hasQuery ? (args.shift() as object | undefined) : {};
    const options = (args.shift() ?? {}) as AllOptions;
    const query = { ...parameters, ...(operation.isAddressed && { domain: options.domain }) };
    const call = { operation, path, body, query, headers: headersOf(operation, options), options };
    const { result } = operation;
    if ('items' in result) {
      return new List<unknown, Record<string, unknown[]>>(
        (after) => transport.json({ ...call, query: { ...query, after } }),
        (page) => page[result.items] ?? [],
      );
    }
    if (result.kind === 'lines') return objectsOf(transport.stream(call));
    return transport[result.kind](call);
  };

const mapValues = <From, To>(values: Readonly<Record<string, From>>, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

/** All methods, by group. */
export const methodsOf = (transport: Transport): Methods =>
  mapValues(methods, (group) =>
    mapValues(group, (id) => methodOf(transport, operations[id])),
  ) as unknown as Methods;
