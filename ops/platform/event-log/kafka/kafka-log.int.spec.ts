import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { writeEvent } from '../../../../schemas/events/codec.js';
import { topicNames, topics } from '../../../../schemas/events/topics.js';
import { eventuallyPasses, rejection } from '../../../test/support/waiting.js';
import { kafkaStartMs, testKafka } from '../../../test/support/kafka.js';
import { createLogger } from '../../logging.js';
import { describeEventLog } from '../../../test/conformance/event-log/event-log.suite.js';
import { eventIn, newCode, recordsOf } from '../../../test/conformance/event-log/events.js';
import {
  openKafkaHarness,
  settingsOf,
  type KafkaHarness,
} from '../../../test/conformance/event-log/kafka-harness.js';
import { openKafkaLog, type KafkaLog } from './kafka-log.js';
import type { KafkaSettings } from './settings.js';
import { TopicDiffers } from './topics.js';

const links = topics.links.name;
const logger = createLogger('silent');

describeEventLog('on Kafka', () => openKafkaHarness('log'));
describeEventLog('on Kafka 3.9', () => openKafkaHarness('log39', '3.9.1'));

describe('platform: log on Kafka, apart from the suite', function () {
  this.timeout(kafkaStartMs);
  let harness: KafkaHarness;

  before(async () => {
    harness = await openKafkaHarness('kafka');
  });
  after(() => harness.close());

  /** What kcat, which knows nothing of us, reads of a topic. */
  const kcat = async (
    topic: string,
  ): Promise<readonly { key: string; payload: string; headers: readonly string[] }[]> => {
    const { stdout } = await promisify(execFile)(
      'kcat',
      ['-b', harness.kafka.brokers, '-C', '-t', topic, '-e', '-q', '-J'],
      { maxBuffer: 64 * 1_048_576 },
    );
    const lines = stdout.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Awaited<ReturnType<typeof kcat>>[number]);
  };

  it('is read by kcat: every value is a CloudEvent, its key the subject', async () => {
    const { log } = await harness.connect();
    const sent = [links, topics.visits.name, topics.usage.name].map((topic) =>
      eventIn(topic, newCode()),
    );
    await harness.decide(sent);
    const [spooled] = recordsOf(topics.visits.name, newCode(), 1);
    if (!spooled) throw new Error('One record was asked for');
    await log.append(topics.visits.name, [spooled]);
    const read = [];
    for (const topic of topicNames)
      read.push(...(await kcat(`${harness.settings.prefix}${topic}`)));
    expect(read.map(({ payload }) => payload)).to.have.members([
      ...sent.map(writeEvent),
      spooled.value,
    ]);
    for (const { key, payload, headers } of read) {
      expect(headers).to.deep.equal(['content-type', 'application/cloudevents+json']);
      const event = JSON.parse(payload) as Record<string, unknown>;
      expect(event).to.include({ specversion: '1.0', subject: key });
      expect(event['id']).to.be.a('string');
      expect(event['source']).to.be.a('string');
      expect(event['type']).to.match(/^linklog\.[A-Za-z]+\.v\d+$/);
      expect(new Date(event['time'] as string).toISOString()).to.equal(event['time']);
    }
  });

  it('is compressed unless it is told otherwise', async () => {
    const visits = topics.visits.name;
    const bytesWith = async (compression: KafkaSettings['compression']): Promise<number> => {
      const kafka = await testKafka(compression);
      const log = openKafkaLog({ settings: { ...settingsOf(kafka), compression }, logger });
      await log.append(visits, recordsOf(visits, newCode(), 500));
      const bytes = await kafka.bytesOf(visits);
      await log.close();
      await kafka.drop();
      return bytes;
    };
    expect((await bytesWith('gzip')) * 4).to.be.below(await bytesWith('none'));
  });

  describe('finds its topics', () => {
    const open = (prefix: string): KafkaLog => {
      const settings: KafkaSettings = { ...harness.settings, prefix };
      return openKafkaLog({ settings, logger });
    };

    it('made once, with nothing ever deleted, also when several processes open it at once', async () => {
      const kafka = await testKafka('many');
      const logs = Array.from({ length: 4 }, () => open(kafka.prefix));
      await Promise.all(logs.map(({ ready }) => ready));
      expect(new Set(logs.map((log) => log.logId(links))).size).to.equal(1);
      for (const { name, partitions } of Object.values(topics)) {
        expect(await logs[0]?.ranges(name)).to.have.lengthOf(partitions);
      }
      for (const log of logs) await log.close();
      await kafka.drop();
    });

    const wrong = [
      ['of another number of partitions', { numPartitions: 5 }, /has 5 partitions, .* wants 8/],
      [
        'that forget',
        { numPartitions: 8, configEntries: [{ name: 'retention.ms', value: '604800000' }] },
        /has retention\.ms=604800000, the log needs -1/,
      ],
      [
        'that are compacted',
        {
          numPartitions: 8,
          configEntries: [
            { name: 'cleanup.policy', value: 'compact' },
            { name: 'retention.ms', value: '-1' },
          ],
        },
        /has cleanup\.policy=compact, the log needs delete/,
      ],
    ] as const;
    for (const [what, made, message] of wrong) {
      it(`${what}, and refuses them`, async () => {
        const kafka = await testKafka('wrong');
        const admin = kafka.client().admin();
        await admin.connect();
        const topic = `${kafka.prefix}${links}`;
        const { configEntries = [], ...rest } = made as typeof made & {
          configEntries?: readonly { name: string; value: string }[];
        };
        await admin.createTopics({
          topics: [{ topic, ...rest, configEntries: [...configEntries], replicationFactor: 1 }],
          // Whoever opens the log waits for them.
          waitForLeaders: false,
        });
        await admin.disconnect();
        const log = openKafkaLog({ settings: settingsOf(kafka), logger });
        const error = await rejection(log.ready);
        expect(error).to.be.instanceOf(TopicDiffers);
        expect((error as Error).message)
          .to.include(topic)
          .and.match(message);
        expect(await rejection(log.append(links, recordsOf(links, newCode(), 1)))).to.equal(error);
        await log.close();
        await kafka.drop();
      });
    }

    it('complete, or rejects: a topic that was created again with fewer partitions has no ends', async () => {
      const kafka = await testKafka('fewer');
      const log = open(kafka.prefix);
      await log.ready;
      const admin = kafka.client().admin();
      await admin.connect();
      const topic = `${kafka.prefix}${links}`;
      await admin.deleteTopics({ topics: [topic] });
      await eventuallyPasses(10_000, async () => {
        await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: true });
        expect((await admin.fetchTopicOffsets(topic)).length).to.equal(3);
      });
      await admin.disconnect();
      const error = (await rejection(log.ranges(links))) as Error;
      expect(error.message).to.equal(`Kafka listed 3 of 8 partitions of ${topic}`);
      await log.close();
      await kafka.drop();
    });

    it('later, when the cluster is away at first; and a log that is closed meanwhile ends at once', async () => {
      const settings = { ...harness.settings, brokers: ['127.0.0.1:1'] };
      const away = openKafkaLog({ settings, logger });
      const begun = performance.now();
      await away.close();
      expect(await rejection(away.ready)).to.be.instanceOf(Error);
      expect(performance.now() - begun).to.be.below(10_000);
    });
  });
});
