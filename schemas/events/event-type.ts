import type { z } from 'zod';
import type { Envelope } from './envelope.js';
import type { topics } from './topics.js';

/** A version of an event's data that is no longer written, with its upcast. */
interface RetiredVersion {
  readonly version: number;
  readonly data: z.ZodType;
  /** Converts the data to `version + 1`. Pure and total. */
  readonly upcast: (data: never) => unknown;
}

/** An event type: its topic, its current data, and all versions that a log may contain. */
export interface EventType<Name extends string, Version extends number, Data extends z.ZodType> {
  readonly name: Name;
  /** For the AsyncAPI document: what happened. */
  readonly description: string;
  readonly topic: keyof typeof topics;
  readonly version: Version;
  readonly type: `linklog.${Name}.v${Version}`;
  readonly data: Data;
  /** Oldest first. */
  readonly retired: readonly RetiredVersion[];
}

/** A declared event type, without the name and topic, which `defineEvents` adds. */
interface Definition {
  readonly description: string;
  readonly version: number;
  readonly data: z.ZodType;
  /** Older versions, oldest first. Without `upcast`, the data is valid in the next version. */
  readonly retired?: readonly (Pick<RetiredVersion, 'version' | 'data'> &
    Partial<RetiredVersion>)[];
}

/** Declares the event types of a topic, by their names. */
export const defineEvents = <const Definitions extends Readonly<Record<string, Definition>>>(
  topic: keyof typeof topics,
  definitions: Definitions,
) => {
  const types = Object.entries(definitions).map(([name, { retired = [], ...definition }]) => {
    const type = `linklog.${name}.v${definition.version}` as const;
    const versions = retired.map((known) => ({ upcast: (data: never): unknown => data, ...known }));
    return [name, { ...definition, name, topic, type, retired: versions }] as const;
  });
  return Object.fromEntries(types) as unknown as {
    readonly [Name in keyof Definitions & string]: EventType<
      Name,
      Definitions[Name]['version'],
      Definitions[Name]['data']
    >;
  };
};

export type EventOf<T> =
  T extends EventType<infer Name, infer Version, infer Data>
    ? Omit<Envelope, 'type' | 'data'> & {
        readonly type: `linklog.${Name}.v${Version}`;
        readonly data: z.output<Data>;
      }
    : never;

/** The default case of a fold's `switch`. It does not compile if a case is missing. @param fold its name */
export const unknownEvent = (event: never, fold: string): never => {
  const { type } = event as { readonly type: string };
  throw new Error(`The fold ${fold} has no case for ${type}`);
};
