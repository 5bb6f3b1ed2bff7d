import Bowser from 'bowser';
import { browserFamilies, deviceTypes, osFamilies } from '../../schemas/events/visitor.js';
import { isBot } from '../domain/bots.js';
import type { VisitFacts } from '../domain/visit-facts.js';
import { remember } from './remember.js';

/** What a user agent tells of a visitor. */
export type Agent = Pick<VisitFacts, 'bot' | 'browser' | 'os' | 'device'>;

const maxAgentLength = 512;

const oneOf = <Known extends string>(list: readonly Known[], name: string): Known | null =>
  list.find((known) => known === name) ?? null;

const judge = (userAgent: string): Agent => {
  if (userAgent === '') return { bot: false, browser: null, os: null, device: null };
  const text = userAgent.slice(0, maxAgentLength);
  const parser = Bowser.getParser(text, true);
  const os = oneOf(osFamilies, parser.getOSName());
  // Bowser names no device of Chrome OS.
  const device = os === 'Chrome OS' ? 'desktop' : oneOf(deviceTypes, parser.getPlatformType());
  return {
    bot: isBot(text),
    browser: oneOf(browserFamilies, parser.getBrowserName()),
    os,
    device: device ?? 'other',
  };
};

/** Judges a user agent; an empty one stands for none. */
export const agentOf = remember(judge);
