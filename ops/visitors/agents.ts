import Bowser from 'bowser';
import { browserFamilies, deviceTypes, osFamilies } from '../../schemas/events/visitor.js';
import { isBot, maxAgentLength } from './bots.js';
import { memoize, type VisitData } from './visit-data.js';

/** The properties of a visitor that follow from the user agent. */
export interface Agent {
  /** What a visit records of them. */
  readonly data: Pick<VisitData, 'bot' | 'browser' | 'os' | 'device'>;
  /**
   * Microsoft Office requests a link itself, follows redirects, and then opens the browser at the final address. Instead
   * of a redirect, it gets a page with a refresh. Then the browser opens the short URL, and only that visit counts.
   */
  readonly isOffice: boolean;
  /** Requests a link to show its preview in a message or post. */
  readonly isPreviewer: boolean;
}

const officeAgent = /ms-?office/i;

const previewer =
  /\b(?:slackbot|facebookexternalhit|twitterbot|linkedinbot|whatsapp|discordbot|telegrambot|applebot|pinterestbot|skypeuripreview)\b/i;

const unknownAgent: Agent = {
  data: { bot: false, browser: null, os: null, device: null },
  isOffice: false,
  isPreviewer: false,
};

/** Televisions that bowser classifies as tablets or desktops. Fire TV has models such as AFTMM. */
const television =
  /\b(?:android ?tv|bravia|crkey|fire ?tv|google ?tv|hbbtv|smart-?tv|vidaa)|; aft[a-z][a-z\d]*(?: build|[;)])|safari\/[\d.]{1,20} tv\b/i;

/** The app of Yahoo Japan. Bowser classifies every "yahoo" as a crawler. */
const yahooJapan = /\bjp\.co\.yahoo\./g;

const oneOf = <Known extends string>(list: readonly Known[], name: string): Known | null =>
  list.find((known) => known === name) ?? null;

const deviceOf = (
  text: string,
  os: Agent['data']['os'],
  platform: string,
): Agent['data']['device'] => {
  if (television.test(text)) return 'tv';
  // Bowser has no device type for Chrome OS.
  return os === 'Chrome OS' ? 'desktop' : (oneOf(deviceTypes, platform) ?? 'other');
};

const parseAgent = (userAgent: string): Agent => {
  if (userAgent === '') return unknownAgent;
  const text = userAgent.slice(0, maxAgentLength);
  const parser = Bowser.getParser(text.replace(yahooJapan, ''), true);
  const os = oneOf(osFamilies, parser.getOSName());
  return {
    data: {
      bot: isBot(text),
      browser: oneOf(browserFamilies, parser.getBrowserName()),
      os,
      device: deviceOf(text, os, parser.getPlatformType()),
    },
    isOffice: officeAgent.test(userAgent),
    isPreviewer: previewer.test(text),
  };
};

/** Parses a user agent. An empty text means no user agent. */
export const agentOf = memoize(parseAgent);

/** The query parameter that marks the request of the browser, after the refresh for Microsoft Office. */
const mark = 'ms-office';
const marked = /(?:^|&)ms-office(?:[=&]|$)/;

export const isMarked = (query: string): boolean => marked.test(query);

export const withMark = (query: string): string => (query === '' ? mark : `${query}&${mark}`);
