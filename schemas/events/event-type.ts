import type { z } from 'zod';
import type { Envelope } from './envelope.js';
import type { topics } from './topics.js';

/** A version of an event's data that is no longer written, and the way to the next version. */
export interface RetiredVersion {
  readonly version: number;
  readonly data: z.ZodType;
  /** From this version's data to that of `version + 1`. Pure and total. */
  readonly upcast: (data: never) => unknown;
}

/** One kind of event: its topic, its current data, and all versions that may stand in a log. */
export interface EventType<Name extends string, Version extends number, Data extends z.ZodType> {
  readonly name: Name;
  readonly topic: keyof typeof topics;
  readonly version: Version;
  readonly type: `linklog.${Name}.v${Version}`;
  readonly data: Data;
  /** Oldest first. */
  readonly retired: readonly RetiredVersion[];
}

/** An event type as it is declared; its name and topic come from `defineEvents`. */
interface Definition {
  readonly version: number;
  readonly data: z.ZodType;
  /** Older versions, oldest first. */
  readonly retired?: readonly RetiredVersion[];
}

/** Declares the event types of a topic, by their names. */
export const defineEvents = <const Definitions extends Readonly<Record<string, Definition>>>(
  topic: keyof typeof topics,
  definitions: Definitions,
) => {
  const types = Object.entries(definitions).map(([name, { version, data, retired = [] }]) => {
    const type = `linklog.${name}.v${version}` as const;
    return [name, { name, topic, version, type, data, retired }] as const;
  });
  return Object.fromEntries(types) as unknown as {
    readonly [Name in keyof Definitions & string]: EventType<
      Name,
      Definitions[Name]['version'],
      Definitions[Name]['data']
    >;
  };
};

/** The event that a type describes, in its current version. */
export type EventOf<T> =
  T extends EventType<infer Name, infer Version, infer Data>
    ? Omit<Envelope, 'type' | 'data'> & {
        readonly type: `linklog.${Name}.v${Version}`;
        readonly data: z.output<Data>;
      }
    : never;

/** Ends a fold's `switch`: does not compile while a type is missing. `fold` names the fold. */
export const unknownEvent = (event: never, fold: string): never => {
  const { type } = event as { readonly type: string };
  throw new Error(`The fold ${fold} has no case for ${type}`);
};
