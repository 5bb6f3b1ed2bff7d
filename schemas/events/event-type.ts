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

/** Declares an event type. `retired` lists older versions, oldest first. */
export const eventType = <
  const Name extends string,
  const Version extends number,
  Data extends z.ZodType,
>(definition: {
  name: Name;
  topic: keyof typeof topics;
  version: Version;
  data: Data;
  retired?: readonly RetiredVersion[];
}): EventType<Name, Version, Data> => ({
  ...definition,
  type: `linklog.${definition.name}.v${definition.version}`,
  retired: definition.retired ?? [],
});

/** The event that a type describes, in its current version. */
export type EventOf<T> =
  T extends EventType<infer Name, infer Version, infer Data>
    ? Omit<Envelope, 'type' | 'data'> & {
        readonly type: `linklog.${Name}.v${Version}`;
        readonly data: z.output<Data>;
      }
    : never;
