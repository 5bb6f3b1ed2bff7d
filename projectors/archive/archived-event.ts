import { catalogue, type EventName, type LinklogEvent } from '../../schemas/events/catalogue.js';
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

/** The category of each type's streams: the name before the subject. The platform is one stream. */
const categories: Readonly<Record<EventName, string | null>> = {
  LinkCreated: 'link',
  LinkExpired: 'link',
  LinkBlocked: 'link',
  LinkUnblocked: 'link',
  LinkVisited: 'visits',
  ApiKeyCreated: 'key',
  ApiKeyChanged: 'key',
  ApiKeyRevoked: 'key',
  AliasOverrideGranted: 'alias',
  AliasOverrideRevoked: 'alias',
  CallsMetered: 'usage',
  QrRendered: 'usage',
  MaintenanceSwitched: null,
  FeatureSwitched: null,
};

const categoryByType = new Map<string, string | null>(
  Object.entries(catalogue).map(([name, { type }]) => [type, categories[name as EventName]]),
);

/** The name of an event's stream. */
export const streamOf = ({ type, subject }: LinklogEvent): string => {
  const category = categoryByType.get(type);
  if (category === undefined) throw new Error(`No stream for ${type}`);
  return category === null ? 'platform' : `${category}-${subject}`;
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
