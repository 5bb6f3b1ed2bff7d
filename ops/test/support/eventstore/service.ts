import {
  Metadata,
  status,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type * as gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type * as shared from '@eventstore/db-client/generated/shared_pb.js';
import type * as streams from '@eventstore/db-client/generated/streams_pb.js';
import { gossipMessages, messages, sharedMessages } from './protocol.js';
import {
  sizeOnDisk,
  type AppendOutcome,
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
    trailers: Readonly<Record<string, string>>,
  ) {
    super(details);
    for (const [name, value] of Object.entries(trailers)) this.metadata.set(name, value);
  }
}

const refusals = {
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
} as const;

const textOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

const identifierOf = (stream: string): shared.StreamIdentifier =>
  new sharedMessages.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64'));

const proposedEvent = (message: streams.AppendReq.ProposedMessage): ProposedEvent => {
  const properties = message.getMetadataMap();
  return {
    id: message.getId()?.getString() ?? '',
    type: properties.get('type') ?? '',
    contentType: properties.get('content-type') ?? '',
    data: message.getData_asB64(),
    metadata: message.getCustomMetadata_asB64(),
  };
};

const readEvent = (stream: string, event: StoredEvent): streams.ReadResp => {
  const recorded = new messages.ReadResp.ReadEvent.RecordedEvent()
    .setId(new sharedMessages.UUID().setString(event.id))
    .setStreamIdentifier(identifierOf(stream))
    .setStreamRevision(String(event.revision))
    .setPreparePosition('0')
    .setCommitPosition('0')
    .setCustomMetadata(event.metadata)
    .setData(event.data);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', '0');
  const read = new messages.ReadResp.ReadEvent()
    .setEvent(recorded)
    .setNoPosition(new sharedMessages.Empty());
  return new messages.ReadResp().setEvent(read);
};

export interface Behaviour {
  readonly streams: Streams;
  readonly maxAppendSize: number;
  /** Counts the calls, and delays them while the server is stalled. */
  readonly called: (method: 'read' | 'append') => Promise<void>;
}

/** The calls that the product sends, with the errors of the server. */
export const streamsService = (server: Behaviour): UntypedServiceImplementation => {
  const { streams: stored, maxAppendSize } = server;

  const read: handleServerStreamingCall<streams.ReadReq, streams.ReadResp> = (call) => {
    const respond = async (): Promise<void> => {
      await server.called('read');
      const options = call.request.getOptions();
      const from = options?.getStream();
      const stream = textOf(from?.getStreamIdentifier());
      const events = stored.events(stream);
      if (events === null) throw refusals.streamDeleted(stream);
      if (events.length === 0) {
        const missing = new messages.ReadResp.StreamNotFound();
        call.write(
          new messages.ReadResp().setStreamNotFound(
            missing.setStreamIdentifier(identifierOf(stream)),
          ),
        );
      }
      const start = Number(from?.getRevision());
      for (const event of events.slice(start, start + Number(options?.getCount()))) {
        call.write(readEvent(stream, event));
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
      const stream = textOf(options?.getStreamIdentifier());
      const expected = options?.hasNoStream() ? 'no_stream' : Number(options?.getRevision());
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

  return { read, append };
};

const appended = (
  stream: string,
  expected: 'no_stream' | number,
  outcome: AppendOutcome,
): streams.AppendResp => {
  if (outcome.result === 'stream-deleted') throw refusals.streamDeleted(stream);
  const response = new messages.AppendResp();
  const empty = new sharedMessages.Empty();
  if (outcome.result === 'success') {
    const success = new messages.AppendResp.Success()
      .setCurrentRevision(String(outcome.revision))
      .setNoPosition(empty);
    return response.setSuccess(success);
  }
  const wrong = new messages.AppendResp.WrongExpectedVersion();
  if (outcome.current === null) wrong.setCurrentNoStream(empty);
  else wrong.setCurrentRevision(String(outcome.current));
  if (expected === 'no_stream') wrong.setExpectedNoStream(empty);
  else wrong.setExpectedRevision(String(expected));
  return response.setWrongExpectedVersion(wrong);
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
