import { ServerUnavailable } from '../postgres/errors.js';
import { hasCode } from '../../platform/errors.js';

const instead =
  'install one (apt-get install default-jre-headless), or set KAFKA_BROKERS to a Kafka of your own';

/** What a failure of `java` means for the person who started us, where that is known. */
export const explainJava = (error: unknown): unknown => {
  if (hasCode(error, 'ENOENT')) {
    return new ServerUnavailable(
      `Kafka needs Java 17 or newer, and java is not in PATH; ${instead}`,
      {
        cause: error,
      },
    );
  }
  if (error instanceof Error && error.message.includes('UnsupportedClassVersionError')) {
    return new ServerUnavailable(
      `Kafka needs Java 17 or newer, and java is an older one; ${instead}`,
      {
        cause: error,
      },
    );
  }
  return error;
};
