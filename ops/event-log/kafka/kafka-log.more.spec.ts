import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { writeEvent } from '../../../schemas/events/codec.js';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { kafkaPrograms, kafkaStartMs, testKafka } from '../../test/support/kafka.js';
import { createLogger } from '../../platform/logging.js';
import { describeEventLog } from '../../test/conformance/event-log/event-log.suite.js';
import { eventIn, newCode, recordsOf } from '../../test/conformance/event-log/events.js';
import { openKafkaHarness, settingsOf } from '../../test/conformance/event-log/kafka-harness.js';
import { openKafkaLog, type KafkaLog } from './kafka-log.js';
import type { KafkaSettings } from './settings.js';
import { TopicDiffers } from './topics.js';
import { fixture } from '../../test/support/fixture.js';

const links = topics.links.name;
const logger = createLogger('silent');

describeEventLog('on Kafka', () => openKafkaHarness('log'), kafkaPrograms);

describe('platform: log on Kafka, apart from the suite', function () {
  this.timeout(kafkaStartMs);
  const harness = fixture(
    () => openKafkaHarness('kafka'),
    (harness) => harness.close(),
    { needs: [...kafkaPrograms, 'kcat'] },
  );

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

  it('is readable by kcat: every value is a CloudEvent with its subject as the key', async () => {
    const { log } = await harness.connect();
    const sent = [links, topics.visits.name, topics.usage.name].map((topic) =>
      eventIn(topic, newCode()),
    );
    await harness.decide(sent);
    const [spooled] = recordsOf(topics.visits.name, newCode(), 1);
    if (!spooled) throw new Error('recordsOf() returned 0 of 1 records');
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

  it('is compressed by default', async () => {
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

  it('starts at the checkpoint of the reader, which cannot be read at first', async () => {
    const kafka = await testKafka('checkpoint');
    const log = openKafkaLog({ settings: settingsOf(kafka), logger });
    const handled = new Set<string>();
    let failures = 0;
    const follow = () =>
      log.subscribe({
        group: 'checkpoint',
        topics: [links],
        position() {
          failures -= 1;
          return failures < 0 ? Promise.resolve(null) : Promise.reject(new Error('unavailable'));
        },
        handle({ records }) {
          for (let at = 0; at < records.length; at += 1) handled.add(records.at(at)?.key ?? '');
          return Promise.resolve();
        },
      });
    const codes = Array.from({ length: 20 }, newCode);
    await log.append(
      links,
      codes.flatMap((code) => recordsOf(links, code, 1)),
    );
    const first = follow();
    await eventually('every record is handled', () => handled.size === 20, 60_000);
    await first.stop();

    // No new record arrives that would reveal a wrong offset.
    handled.clear();
    failures = 10;
    const second = follow();
    await eventually('every record is handled again', () => handled.size === 20, 60_000);
    await second.stop();
    await log.close();
    await kafka.drop();
  });

  describe('finds its topics', () => {
    const open = (prefix: string): KafkaLog => {
      const settings: KafkaSettings = { ...harness.settings, prefix };
      return openKafkaLog({ settings, logger });
    };

    it('created once, without retention limits, also by concurrent processes', async () => {
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
      ['with another number of partitions', { numPartitions: 5 }, /has 5 partitions, .* needs 8/],
      [
        'with a retention limit',
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
    for (const [what, config, message] of wrong) {
      it(`${what}, and refuses them`, async () => {
        const kafka = await testKafka('wrong');
        const admin = kafka.client().admin();
        await admin.connect();
        const topic = `${kafka.prefix}${links}`;
        const { configEntries = [], ...rest } = config as typeof config & {
          configEntries?: readonly { name: string; value: string }[];
        };
        await admin.createTopics({
          topics: [{ topic, ...rest, configEntries: [...configEntries], replicationFactor: 1 }],
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

    it('missing at a later start, and does not create them again', async () => {
      const kafka = await testKafka('lost');
      const admin = kafka.client().admin();
      await admin.connect();
      const binding = (created: readonly TopicName[]) => ({
        createdTopics: () => Promise.resolve(new Set(created)),
        bind: () => Promise.resolve(),
      });
      const openAs = (created: readonly TopicName[]): KafkaLog =>
        openKafkaLog({ settings: settingsOf(kafka), logger, binding: binding(created) });
      const first = openAs([]);
      await first.ready;
      await first.close();
      const topic = `${kafka.prefix}${topics.usage.name}`;
      await admin.deleteTopics({ topics: [topic] });
      await eventually('it is deleted', async () => !(await admin.listTopics()).includes(topic));

      const later = openAs(topicNames);
      expect(await rejection(later.topicMissing)).to.include({
        code: 'TOPIC_MISSING',
        message: `topic ${topic} is missing: it was deleted in Kafka, with its records`,
      });
      const missing = (await later.inspect()).filter(({ partitions }) => partitions === null);
      expect(missing.map(({ name }) => name)).to.deep.equal([topic]);
      expect(await admin.listTopics()).not.to.include(topic);
      await later.close();
      await rejection(later.ready);

      // Another version may have made all but one.
      const upgraded = openAs(topicNames.filter((name) => name !== topics.usage.name));
      await upgraded.ready;
      expect(await upgraded.ranges(topics.usage.name)).to.have.length(topics.usage.partitions);
      await upgraded.close();
      await admin.disconnect();
      await kafka.drop();
    });

    it('when the cluster becomes reachable; a log that is closed before rejects immediately', async () => {
      const settings = { ...harness.settings, brokers: ['127.0.0.1:1'] };
      const away = openKafkaLog({ settings, logger });
      await away.close();
      expect(await rejection(away.ready)).to.be.instanceOf(Error);
    });
  });
});
