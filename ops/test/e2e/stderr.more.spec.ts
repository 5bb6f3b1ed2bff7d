import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { fixture } from '../support/fixture.js';
import { dedicatedKafka, kafkaPrograms } from '../support/kafka.js';
import { launch, startLinklogCli } from '../support/process.js';
import { onStack } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, productFixture } from './harness.js';

const migrateFile = fileURLToPath(new URL('../../tools/migrate.js', import.meta.url));

/**
 * Emits a warning in each process and thread, such as TimeoutNegativeWarning of later versions of Node.js: after the
 * imports of a busy machine, and before a command has waited 30 s for Kafka.
 */
const warning = 'setTimeout(() => process.emitWarning("of the test"), 12_000).unref()';
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(warning)}`;

/** Lines that are neither JSON of pino nor one line of ours. */
const rawLines = (stderr: string): readonly string[] =>
  stderr.split('\n').filter((line) => {
    if (line === '' || line.startsWith('linklog: ')) return false;
    try {
      return typeof (JSON.parse(line) as { readonly level?: unknown }).level !== 'number';
    } catch {
      return true;
    }
  });

describe('product: stderr while Kafka is unavailable', function () {
  this.timeout(240_000);
  const kafka = fixture(
    () => dedicatedKafka('stderr'),
    (kafka) => kafka.drop(),
    { needs: kafkaPrograms },
  );
  const bench = productFixture(() => ({
    ...{ KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix },
    ...{ LOG_LEVEL: 'debug', NODE_OPTIONS },
  }));

  it('has only JSON lines, or one line of a command', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    await kafka.server.stop();
    try {
      expect((await bench.visit(shortCode)).status).to.equal(302);
      expect((await bench.shorten(key, { url: destination })).status).to.equal(503);
      const { dataDir } = bench.product;
      const env = {
        ...{ DATA_DIR: dataDir, NODE_OPTIONS },
        ...{ KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix },
      };
      const commands = [
        ['audit', 'verify'],
        ['audit', 'replay'],
        ['backup', `${dataDir}/a-backup`],
      ];
      const outputs = await Promise.all(commands.map((args) => startLinklogCli(args, env).ended));
      for (const [index, { exitCode, stderr }] of outputs.entries()) {
        expect(exitCode, `${commands[index]?.join(' ')}: ${stderr}`).to.equal(1);
        expect(stderr).to.include('linklog: KAFKA_BROKERS: kafka is unreachable');
        expect(stderr).to.include('linklog: Warning: of the test');
        expect(rawLines(stderr)).to.deep.equal([]);
      }
      const DATABASE_URL = (await runningPostgresUrl(dataDir)) ?? '';
      const { stderr } = await launch({ ...env, DATABASE_URL }, [migrateFile]).ended;
      expect(rawLines(stderr)).to.deep.equal([]);
    } finally {
      await kafka.server.restart();
    }
    await eventuallyPasses(async () => {
      const response = await bench.shorten(key, { url: destination });
      expect(response.status, response.text).to.equal(201);
    }, 60_000);
    const { stderr } = await bench.product.stop();
    expect(rawLines(stderr)).to.deep.equal([]);
    const warnings = stderr
      .split('\n')
      .filter((line) => line.includes('node.js emitted a warning'));
    // The process, the thread of the projectors and that of the shipping. On the stack: the supervisor, two APIs,
    // two edges and their threads of the shipping, and two projectors.
    expect(warnings).to.have.length(onStack ? 9 : 3);
  });
});
