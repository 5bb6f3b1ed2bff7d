import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isLinkEvent,
  isPlatformEvent,
  isUsageEvent,
  type LinklogEvent,
} from '../../schemas/events/catalogue.js';
import { withoutSecrets } from '../../schemas/events/redact.js';

/** An event as EventStoreDB stores it; attributes other than id and type are metadata. */
export interface ArchivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: object;
  /** Bytes towards the server's limit of an append. */
  readonly size: number;
}

/** The name of an event's stream. `$by_category` sorts streams by the part before the subject. */
export const streamOf = (event: LinklogEvent): string => {
  const { subject } = event;
  if (isLinkEvent(event)) return `link-${subject}`;
  if (event.type === 'linklog.LinkVisited.v1') return `visits-${subject}`;
  if (isApiKeyEvent(event)) return `key-${subject}`;
  if (isAliasOverrideEvent(event)) return `alias-${subject}`;
  if (isUsageEvent(event)) return `usage-${subject}`;
  if (isPlatformEvent(event)) return 'platform';
  const unknown: never = event;
  return unknown;
};

/** The event less its secrets. */
export const archivedEvent = (event: LinklogEvent): ArchivedEvent => {
  const { id, type, data, ...attributes } = withoutSecrets(event) as LinklogEvent;
  const metadata = {
    ...attributes,
    // The names by which EventStoreDB's own projections and UI follow causes.
    ...(event.correlationid !== undefined && { $correlationId: event.correlationid }),
    ...(event.causationid !== undefined && { $causationId: event.causationid }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(data) + JSON.stringify(metadata));
  return { id, type, data, metadata, size: bytes + type.length * 2 };
};
