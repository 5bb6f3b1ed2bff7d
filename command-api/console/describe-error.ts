import { texts } from './texts.js';

const text = texts.components;

const describePath = (message: string): string =>
  message.replace(/^rules\[\d+\]\S*(?=:)/, (path) =>
    path
      .replace(/^rules\[(\d+)\]/, (_, index: string) => text.ruleNumber(Number(index) + 1))
      .replace(/\.split\[(\d+)\]/, (_, index: string) => `, ${text.entryInPath(Number(index) + 1)}`)
      .replace('.when', '')
      .replaceAll(/\[\d+\]/g, '')
      .replaceAll('.', ', '),
  );

/**
 * An error of the API with the path in words: `rules[0].when.devices[1]: must be …` becomes
 * `Rule 1, devices: must be …`. Messages that the language lacks stay.
 *
 * @param reason replaces the text after the path
 */
export const describeError = (message: string, reason?: string): string => {
  const [path = ''] = /^rules\[\d+\]\S*: /.exec(message) ?? [];
  return text.apiErrors[message] ?? describePath(reason === undefined ? message : path + reason);
};
