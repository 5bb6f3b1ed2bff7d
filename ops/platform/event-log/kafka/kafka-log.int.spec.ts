import { describeEventLog } from '../conformance.suite.js';
import { openKafkaHarness } from '../conformance/kafka-harness.js';

describeEventLog('on Kafka', () => openKafkaHarness('log'));
