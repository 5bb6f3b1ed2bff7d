import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Metadata,
  status,
  type handleClientStreamingCall,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
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
  eventTooLarge: (id: string, max: number) =>
    new Refusal(
      status.INVALID_ARGUMENT,
      `Event with Id: ${id} exceeds Maximum Append Event Size of ${max}.`,
      {},
    ),
  timeout: () => new Refusal(status.ABORTED, 'Operation timed out: Commit phase timeout', {}),
  accessDenied: () =>
    new Refusal(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' }),
  notReady: () => new Refusal(status.UNAVAILABLE, 'Server Is Not Ready', {}),
  notLeader: (port: number) =>
    new Refusal(status.NOT_FOUND, 'Leader info available', {
      exception: 'not-leader',
      'leader-endpoint-host': '127.0.0.1',
      'leader-endpoint-port': String(port),
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

/** The state of a node that its responses depend on. */
export interface Behaviour {
  readonly streams: Streams;
  readonly maxAppendSize: number;
  readonly maxAppendEventSize: number;
  /** How long an append waits for its commit (ms). */
  readonly commitTimeoutMs: number;
  /** Whether the user may append. */
  mayAppend: boolean;
  /** Counts the calls, and delays them while the server is stalled. */
  readonly called: (method: 'read' | 'append' | 'gossip') => Promise<void>;
  /** The port of the cluster's leader; `null` during an election. */
  readonly leader: () => number | null;
  /** The ports of the nodes of the cluster that have not stopped. */
  readonly members: () => readonly number[];
  readonly port: number;
}

type Call =
  | ServerReadableStream<streams.AppendReq, streams.AppendResp>
  | ServerWritableStream<streams.ReadReq, streams.ReadResp>
  | ServerUnaryCall<shared.Empty, gossip.ClusterInfo>;

/** Counts and delays a call. A process that was stopped drops calls whose deadline has passed. */
const enter = async (server: Behaviour, method: 'read' | 'append' | 'gossip', call: Call) => {
  await server.called(method);
  if (call.cancelled || Number(call.getDeadline()) <= Date.now()) throw refusals.notReady();
  if (call.metadata.get('requires-leader')[0] !== 'true') return;
  const leader = server.leader();
  if (leader === null) throw refusals.notReady();
  if (leader !== server.port) throw refusals.notLeader(leader);
};

/** The calls that the product sends, with the errors of the server. */
export const streamsService = (server: Behaviour): UntypedServiceImplementation => {
  const { streams: stored, maxAppendSize, maxAppendEventSize, commitTimeoutMs } = server;

  const read: handleServerStreamingCall<streams.ReadReq, streams.ReadResp> = (call) => {
    const respond = async (): Promise<void> => {
      await enter(server, 'read', call);
      const options = call.request.getOptions();
      const from = options?.getStream();
      const stream = textOf(from?.getStreamIdentifier());
      const events = stored.visible(stream);
      if (events === null) throw refusals.streamDeleted(stream);
      if (events === undefined) {
        const missing = new messages.ReadResp.StreamNotFound();
        call.write(
          new messages.ReadResp().setStreamNotFound(
            missing.setStreamIdentifier(identifierOf(stream)),
          ),
        );
      }
      const isBackwards =
        options?.getReadDirection() === messages.ReadReq.Options.ReadDirection.BACKWARDS;
      const start = from?.hasRevision() ? Number(from.getRevision()) : 0;
      const due = isBackwards
        ? events?.toReversed()
        : events?.filter(({ revision }) => revision >= start);
      for (const event of due?.slice(0, Number(options?.getCount())) ?? []) {
        call.write(readEvent(stream, event));
      }
      call.end();
    };
    respond().catch((error: unknown) => call.emit('error', error));
  };

  /** Waits for the commit of an append. A repeat is dropped silently, so it waits for nothing. */
  const untilCommitted = async (stream: string, outcome: AppendOutcome): Promise<AppendOutcome> => {
    if (outcome.result !== 'pending' && outcome.result !== 'dropped') return outcome;
    const deadline = performance.now() + commitTimeoutMs;
    while (performance.now() < deadline) {
      await sleep(5);
      const { revision } = outcome.result === 'pending' ? outcome : { revision: Infinity };
      if ((stored.events(stream)?.at(-1)?.revision ?? -1) >= revision) {
        return { result: 'success', revision };
      }
    }
    throw refusals.timeout();
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
        if (sizeOnDisk(event) > maxAppendEventSize) {
          throw refusals.eventTooLarge(event.id, maxAppendEventSize);
        }
        proposed.push(event);
      }
      await enter(server, 'append', call);
      if (!server.mayAppend) throw refusals.accessDenied();
      const stream = textOf(options?.getStreamIdentifier());
      const expected = options?.hasNoStream() ? 'no_stream' : Number(options?.getRevision());
      const outcome = stored.append(stream, expected, proposed);
      return appended(stream, expected, await untilCommitted(stream, outcome));
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
  if (outcome.result === 'dropped' || outcome.result === 'pending') throw refusals.timeout();
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

/** The members of the cluster, for clients that discover the leader. */
export const gossipService = (server: Behaviour): UntypedServiceImplementation => {
  const read: handleUnaryCall<shared.Empty, gossip.ClusterInfo> = (call, callback) => {
    const { ClusterInfo, EndPoint, MemberInfo } = gossipMessages;
    const respond = async (): Promise<gossip.ClusterInfo> => {
      await enter(server, 'gossip', call);
      const { LEADER, FOLLOWER } = MemberInfo.VNodeState;
      const members = server.members().map((port) =>
        new MemberInfo()
          .setInstanceId(new sharedMessages.UUID().setString(randomUUID()))
          .setTimeStamp(String(Date.now()))
          .setState(port === server.leader() ? LEADER : FOLLOWER)
          .setIsAlive(true)
          .setHttpEndPoint(new EndPoint().setAddress('127.0.0.1').setPort(port)),
      );
      return new ClusterInfo().setMembersList(members);
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
  return { read };
};
