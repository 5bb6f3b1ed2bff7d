import { expect } from 'chai';
import { CommanderError } from 'commander';
import { ServerUnavailable } from '../../local/process/errors.js';
import { ConfigError } from '../../platform/errors.js';
import { CliError, failureOf } from './errors.js';

describe('CLI: failures of a command', () => {
  it('become one line and an exit code', () => {
    const failures: readonly (readonly [unknown, string, number])[] = [
      [new CliError('USAGE', 'no such thing'), 'no such thing', 2],
      [new CliError('NO_SERVICE', 'no service'), 'no service', 1],
      [new CliError('INTERRUPTED', 'stopped'), 'stopped', 130],
      [new ConfigError('API_PORT must be a port number'), 'API_PORT must be a port number', 78],
      [new ServerUnavailable('not available'), 'not available', 78],
      [new Error('a message\n  of two lines\n'), 'a message of two lines', 1],
      [new AggregateError([new Error('refused')], ''), 'refused', 1],
      ['a text', 'a text', 1],
    ];
    for (const [error, line, exitCode] of failures) {
      expect(failureOf(error)).to.deep.equal({ line, exitCode });
    }
  });

  it('are not printed after --help', () => {
    const shown = new CommanderError(0, 'commander.helpDisplayed', '(outputHelp)');
    expect(failureOf(shown)).to.deep.equal({ line: null, exitCode: 0 });
  });
});
