import { expect } from 'chai';
import { CommanderError } from 'commander';
import { ServerUnavailable } from '../../local/process/errors.js';
import { ConfigError } from '../../platform/process/config-error.js';
import { CliError, failureOf } from './errors.js';

describe('CLI: failures of a command', () => {
  it('are one line and an exit code each', () => {
    const failures: readonly (readonly [unknown, string, number])[] = [
      [new CliError('USAGE', 'no such thing'), 'no such thing', 2],
      [new CliError('NO_SERVICE', 'nobody there'), 'nobody there', 1],
      [new CliError('INTERRUPTED', 'stopped'), 'stopped', 130],
      [new ConfigError('API_PORT must be a port number'), 'API_PORT must be a port number', 78],
      [new ServerUnavailable('it is not ours'), 'it is not ours', 78],
      [new Error('something\n  at two lines\n'), 'something at two lines', 1],
      [new AggregateError([new Error('refused')], ''), 'refused', 1],
      ['a text', 'a text', 1],
    ];
    for (const [error, line, exitCode] of failures) {
      expect(failureOf(error)).to.deep.equal({ line, exitCode });
    }
  });

  it("have commander's guess on the same line, or say where to read", () => {
    const failure = (message: string) =>
      failureOf(new CommanderError(1, 'commander.unknownOption', message));
    expect(failure("error: unknown option '--nmae'\n(Did you mean --name?)")).to.deep.equal({
      line: "unknown option '--nmae' (did you mean --name?)",
      exitCode: 2,
    });
    expect(failure("error: unknown command 'xyz'")).to.deep.equal({
      line: 'unknown command \'xyz\'; see "linklog --help"',
      exitCode: 2,
    });
    expect(failure("error: missing required argument 'id'")).to.deep.equal({
      line: "missing required argument 'id'",
      exitCode: 2,
    });
  });

  it('are none after --help', () => {
    const shown = new CommanderError(0, 'commander.helpDisplayed', '(outputHelp)');
    expect(failureOf(shown)).to.deep.equal({ line: null, exitCode: 0 });
  });
});
