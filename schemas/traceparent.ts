/** W3C Trace Context: https://www.w3.org/TR/trace-context/ */
import { z } from 'zod';

const ids = '(?!0{32})[\\da-f]{32}-(?!0{16})[\\da-f]{16}';

/** Trace id, parent id and flags in the form of version 00. */
export const traceparent = z.string().regex(new RegExp(`^00-${ids}-[\\da-f]{2}$`));

/** The flags that version 00 defines: sampled, and random trace id. */
const knownFlags = 0x03;
const flagsAt = 53;

/**
 * The header of a request. Of later versions, only the fields of version 00 are read. The result is in the form of
 * version 00, without unknown flags.
 */
const traceparentHeader = z
  .string()
  .regex(new RegExp(`^(?:00-${ids}-[\\da-f]{2}$|(?!00|ff)[\\da-f]{2}-${ids}-[\\da-f]{2}(?:-|$))`))
  .transform((header) => {
    const flags = parseInt(header.slice(flagsAt, flagsAt + 2), 16) & knownFlags;
    return `00-${header.slice(3, flagsAt)}0${flags}`;
  });

/** The trace context of a request; `undefined` if its header is absent or invalid. */
export const traceparentOf = (
  header: string | readonly string[] | undefined,
): string | undefined =>
  header === undefined ? undefined : traceparentHeader.safeParse(header).data;

/** For log lines. */
export const traceIdOf = (parent: string): string => parent.slice(3, 35);
