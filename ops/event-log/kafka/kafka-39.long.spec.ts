import { describeEventLog } from '../../test/conformance/event-log/event-log.suite.js';
import { openKafkaHarness } from '../../test/conformance/event-log/kafka-harness.js';
import { kafkaPrograms } from '../../test/support/kafka.js';

// The oldest version that Linklog supports.
describeEventLog('on Kafka 3.9', () => openKafkaHarness('log39', '3.9.1'), kafkaPrograms);
