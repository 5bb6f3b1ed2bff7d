import { createRequire } from 'node:module';
import type * as gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type * as gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type * as shared from '@eventstore/db-client/generated/shared_pb.js';
import type * as streams from '@eventstore/db-client/generated/streams_pb.js';
import type * as streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';

/**
 * The messages and services of the client package, loaded from its location: messages of another copy of
 * google-protobuf have other classes.
 */
const load = createRequire(
  createRequire(import.meta.url).resolve('@eventstore/db-client/generated/streams_pb.js'),
);

export const messages = load('./streams_pb.js') as typeof streams;
export const sharedMessages = load('./shared_pb.js') as typeof shared;
export const gossipMessages = load('./gossip_pb.js') as typeof gossip;
export const { GossipService } = load('./gossip_grpc_pb.js') as typeof gossipService;
export const { StreamsService } = load('./streams_grpc_pb.js') as typeof streamsService;
