import {
  Metadata,
  status,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type * as features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type * as gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type * as shared from '@eventstore/db-client/generated/shared_pb.js';
import type * as streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  Any,
  featureMessages,
  gossipMessages,
  GoogleEmpty,
  messages,
  sharedMessages,
  statusMessages,
  StreamsService,
} from './protocol.js';
import {
  sizeOnDisk,
  type AppendOutcome,
  type ExpectedVersion,
  type ProposedEvent,
  type StoredEvent,
  type Streams,
} from './streams.js';

/** A gRPC status; clients read the name of the exception from the trailers. */
class Refusal extends Error {
  readonly metadata = new Metadata();

  constructor(
    readonly code: status,
    readonly details: string,
    trailers: Readonly<Record<string, string>> = {},
  ) {
    super(details);
    for (const [name, value] of Object.entries(trailers)) this.metadata.set(name, value);
  }
}

const refusals = {
  unauthenticated: () => new Refusal(status.UNAUTHENTICATED, 'Unauthenticated'),
  streamDeleted: (stream: string) =>
    new Refusal(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
      exception: 'stream-deleted',
      'stream-name': stream,
    }),
  tooLarge: (max: number) =>
    new Refusal(status.INVALID_ARGUMENT, `Maximum Append Size of ${max} Exceeded.`, {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': String(max),
    }),
  noProperty: (name: string) =>
    new Refusal(status.INVALID_ARGUMENT, `Required Metadata Property '${name}' is missing`, {
      exception: 'missing-required-metadata-property',
      'required-metadata-properties': 'type,content-type',
    }),
  invalid: (what: string) => new Refusal(status.INVALID_ARGUMENT, what),
} as const;

const textOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

const identifierOf = (stream: string): shared.StreamIdentifier =>
  new sharedMessages.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64'));

const proposedEvent = (
  message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage,
): ProposedEvent => {
  const properties = message.getMetadataMap();
  const property = (name: string): string => {
    const value = properties.get(name);
    if (value === undefined) throw refusals.noProperty(name);
    return value;
  };
  return {
    id: message.getId()?.getString() ?? '',
    type: property('type'),
    contentType: property('content-type'),
    data: message.getData_asB64(),
    metadata: message.getCustomMetadata_asB64(),
  };
};

const readEvent = (stream: string, event: StoredEvent): streams.ReadResp => {
  const recorded = new messages.ReadResp.ReadEvent.RecordedEvent()
    .setId(new sharedMessages.UUID().setString(event.id))
    .setStreamIdentifier(identifierOf(stream))
    .setStreamRevision(String(event.revision))
    .setPreparePosition(String(event.position))
    .setCommitPosition(String(event.position))
    .setCustomMetadata(event.metadata)
    .setData(event.data);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    // .NET's ticks: tenths of a microsecond.
    .set('created', String(event.created.getTime() * 10_000));
  const read = new messages.ReadResp.ReadEvent()
    .setEvent(recorded)
    .setNoPosition(new sharedMessages.Empty());
  return new messages.ReadResp().setEvent(read);
};

export interface Behaviour {
  readonly streams: Streams;
  readonly maxAppendSize: number;
  /** `user:password`; `null`: no authentication. */
  readonly credentials: string | null;
  /** Counts the calls, and delays them while the server is stalled. */
  readonly called: (method: 'read' | 'append' | 'batchAppend') => Promise<void>;
}

/** Append, read and tombstone, with the errors of the server. */
export const streamsService = (server: Behaviour): UntypedServiceImplementation => {
  const { streams: stored, maxAppendSize } = server;

  const admit = (metadata: Metadata): void => {
    if (server.credentials === null) return;
    const [given] = metadata.get('authorization');
    const expected = `Basic ${Buffer.from(server.credentials).toString('base64')}`;
    if (given !== expected) throw refusals.unauthenticated();
  };

  const read: handleServerStreamingCall<streams.ReadReq, streams.ReadResp> = (call) => {
    const respond = async (): Promise<void> => {
      await server.called('read');
      admit(call.metadata);
      const options = call.request.getOptions();
      const from = options?.getStream();
      if (!options || !from) throw refusals.invalid('the double reads only streams');
      const stream = textOf(from.getStreamIdentifier());
      const events = stored.events(stream);
      if (events === null) throw refusals.streamDeleted(stream);
      if (events.length === 0) {
        const missing = new messages.ReadResp.StreamNotFound();
        call.write(
          new messages.ReadResp().setStreamNotFound(
            missing.setStreamIdentifier(identifierOf(stream)),
          ),
        );
      } else {
        const backwards =
          options.getReadDirection() === messages.ReadReq.Options.ReadDirection.BACKWARDS;
        const last = events.length - 1;
        const start = from.hasRevision() ? Number(from.getRevision()) : from.hasEnd() ? last : 0;
        const count = Number(options.getCount());
        const found = backwards
          ? events.slice(Math.max(0, start + 1 - count), start + 1).reverse()
          : events.slice(start, start + count);
        for (const event of found) call.write(readEvent(stream, event));
      }
      call.end();
    };
    respond().catch((error: unknown) => call.emit('error', error));
  };

  const append: handleClientStreamingCall<streams.AppendReq, streams.AppendResp> = (
    call,
    callback,
  ) => {
    const respond = async (): Promise<streams.AppendResp> => {
      let options: streams.AppendReq.Options | undefined;
      const proposed: ProposedEvent[] = [];
      let size = 0;
      for await (const request of call as AsyncIterable<streams.AppendReq>) {
        const message = request.getProposedMessage();
        options ??= request.getOptions();
        if (!message) continue;
        const event = proposedEvent(message);
        size += sizeOnDisk(event);
        if (size > maxAppendSize) throw refusals.tooLarge(maxAppendSize);
        proposed.push(event);
      }
      await server.called('append');
      admit(call.metadata);
      if (!options) throw refusals.invalid('the first message has no options');
      const stream = textOf(options.getStreamIdentifier());
      const expected: ExpectedVersion = options.hasNoStream()
        ? 'no_stream'
        : options.hasAny()
          ? 'any'
          : options.hasStreamExists()
            ? 'stream_exists'
            : Number(options.getRevision());
      return appended(stream, expected, stored.append(stream, expected, proposed));
    };
    respond().then(
      (response) => {
        callback(null, response);
      },
      (error: unknown) => {
        callback(error as Error);
      },
    );
  };

  const batchAppend: handleBidiStreamingCall<streams.BatchAppendReq, streams.BatchAppendResp> = (
    call,
  ) => {
    interface Pending {
      readonly options: streams.BatchAppendReq.Options;
      readonly events: ProposedEvent[];
    }
    const pending = new Map<string, Pending>();

    const receive = async (request: streams.BatchAppendReq): Promise<void> => {
      const correlation = request.getCorrelationId();
      const id = correlation?.getString() ?? '';
      const options = request.getOptions();
      if (options) pending.set(id, { options, events: [] });
      const batch = pending.get(id);
      if (!batch) return;
      batch.events.push(...request.getProposedMessagesList().map(proposedEvent));
      const stream = textOf(batch.options.getStreamIdentifier());
      const reply = (response: streams.BatchAppendResp): void => {
        pending.delete(id);
        call.write(
          response.setCorrelationId(correlation).setStreamIdentifier(identifierOf(stream)),
        );
      };
      if (batch.events.reduce((sum, event) => sum + sizeOnDisk(event), 0) > maxAppendSize) {
        const details = new sharedMessages.MaximumAppendSizeExceeded();
        reply(batchRefusal(details.setMaxappendsize(maxAppendSize), 'MaximumAppendSizeExceeded'));
        return;
      }
      if (!request.getIsFinal()) return;
      await server.called('batchAppend');
      const expected: ExpectedVersion = batch.options.hasNoStream()
        ? 'no_stream'
        : batch.options.hasAny()
          ? 'any'
          : batch.options.hasStreamExists()
            ? 'stream_exists'
            : Number(batch.options.getStreamPosition());
      reply(batchAppended(stream, expected, stored.append(stream, expected, batch.events)));
    };

    const serve = async (): Promise<void> => {
      admit(call.metadata);
      for await (const request of call as AsyncIterable<streams.BatchAppendReq>) {
        await receive(request);
      }
      call.end();
    };
    serve().catch((error: unknown) => call.emit('error', error));
  };

  const tombstone: handleUnaryCall<streams.TombstoneReq, streams.TombstoneResp> = (
    call,
    callback,
  ) => {
    stored.tombstone(textOf(call.request.getOptions()?.getStreamIdentifier()));
    callback(null, new messages.TombstoneResp().setNoPosition(new sharedMessages.Empty()));
  };

  return { read, append, batchAppend, tombstone };
};

const appended = (
  stream: string,
  expected: ExpectedVersion,
  outcome: AppendOutcome,
): streams.AppendResp => {
  if (outcome.result === 'stream-deleted') throw refusals.streamDeleted(stream);
  const response = new messages.AppendResp();
  if (outcome.result === 'success') {
    const at = String(outcome.position);
    const position = new messages.AppendResp.Position()
      .setCommitPosition(at)
      .setPreparePosition(at);
    const success = new messages.AppendResp.Success()
      .setCurrentRevision(String(outcome.revision))
      .setPosition(position);
    return response.setSuccess(success);
  }
  const empty = new sharedMessages.Empty();
  const wrong = new messages.AppendResp.WrongExpectedVersion();
  if (outcome.current === null) wrong.setCurrentNoStream(empty);
  else wrong.setCurrentRevision(String(outcome.current));
  if (expected === 'any') wrong.setExpectedAny(empty);
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(empty);
  else if (expected === 'no_stream') wrong.setExpectedNoStream(empty);
  else wrong.setExpectedRevision(String(expected));
  return response.setWrongExpectedVersion(wrong);
};

const batchRefusal = (
  details: { serializeBinary(): Uint8Array },
  name: string,
): streams.BatchAppendResp => {
  const packed = new Any();
  packed.pack(details.serializeBinary(), `event_store.client.${name}`);
  const error = new statusMessages.Status().setMessage(name).setDetails(packed);
  return new messages.BatchAppendResp().setError(error);
};

const batchAppended = (
  stream: string,
  expected: ExpectedVersion,
  outcome: AppendOutcome,
): streams.BatchAppendResp => {
  if (outcome.result === 'success') {
    const at = String(outcome.position);
    const success = new messages.BatchAppendResp.Success()
      .setCurrentRevision(String(outcome.revision))
      .setPosition(
        new sharedMessages.AllStreamPosition().setCommitPosition(at).setPreparePosition(at),
      );
    return new messages.BatchAppendResp().setSuccess(success);
  }
  if (outcome.result === 'stream-deleted') {
    const details = new sharedMessages.StreamDeleted().setStreamIdentifier(identifierOf(stream));
    return batchRefusal(details, 'StreamDeleted');
  }
  const empty = new GoogleEmpty();
  const wrong = new sharedMessages.WrongExpectedVersion();
  if (outcome.current === null) wrong.setCurrentNoStream(empty);
  else wrong.setCurrentStreamRevision(String(outcome.current));
  if (expected === 'any') wrong.setExpectedAny(empty);
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(empty);
  else if (expected === 'no_stream') wrong.setExpectedNoStream(empty);
  else wrong.setExpectedStreamPosition(String(expected));
  return batchRefusal(wrong, 'WrongExpectedVersion');
};

/** The supported methods: clients use batch append only if it is listed. */
export const featuresService = (): UntypedServiceImplementation => {
  const getSupportedMethods: handleUnaryCall<shared.Empty, features.SupportedMethods> = (
    _,
    callback,
  ) => {
    const methods = Object.values(StreamsService).map(({ path }) => {
      const [, service = '', method = ''] = path.split('/');
      return new featureMessages.SupportedMethod()
        .setServiceName(service.toLowerCase())
        .setMethodName(method.toLowerCase());
    });
    callback(
      null,
      new featureMessages.SupportedMethods()
        .setEventStoreServerVersion('23.10.0')
        .setMethodsList(methods),
    );
  };
  return { getSupportedMethods };
};

/** A cluster of one node, for clients that discover the leader. */
export const gossipService = (port: () => number): UntypedServiceImplementation => {
  const read: handleUnaryCall<shared.Empty, gossip.ClusterInfo> = (_, callback) => {
    const { ClusterInfo, EndPoint, MemberInfo } = gossipMessages;
    const leader = new MemberInfo()
      .setInstanceId(new sharedMessages.UUID().setString('00000000-0000-4000-8000-000000000001'))
      .setTimeStamp(String(Date.now()))
      .setState(MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new EndPoint().setAddress('127.0.0.1').setPort(port()));
    callback(null, new ClusterInfo().setMembersList([leader]));
  };
  return { read };
};
