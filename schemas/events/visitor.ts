/** The values that an event may have for a visitor: fixed lists, so that no text of a user agent is logged. */

/** Families of browsers, by bowser's names. A longer list is a new version of LinkVisited. */
export const browserFamilies = [
  'Chrome',
  'Safari',
  'Firefox',
  'Microsoft Edge',
  'Opera',
  'Samsung Internet for Android',
  'Internet Explorer',
  'Android Browser',
  'Amazon Silk',
  'Brave',
  'Chromium',
  'DuckDuckGo',
  'Electron',
  'Epiphany',
  'Focus',
  'Google Search',
  'HeyTap Browser',
  'LibreWolf',
  'Maxthon',
  'MZ Browser',
  'NAVER Whale Browser',
  'Opera Coast',
  'Opera Touch',
  'Pale Moon',
  'Puffin',
  'QQ Browser',
  'QQ Browser Lite',
  'SeaMonkey',
  'Sleipnir',
  'Sogou Browser',
  'UC Browser',
  'Vivaldi',
  'Vivo Browser',
  'WeChat',
  'Yandex Browser',
  'BlackBerry',
  'Tizen',
  'WebOS Browser',
] as const;

/** Families of operating systems, by bowser's names. A longer list is a new version of LinkVisited. */
export const osFamilies = [
  'Android',
  'iOS',
  'Windows',
  'macOS',
  'Linux',
  'Chrome OS',
  'HarmonyOS',
  'Windows Phone',
  'BlackBerry',
  'Tizen',
  'WebOS',
  'PlayStation 4',
  'Roku',
] as const;

export const deviceTypes = ['desktop', 'mobile', 'tablet', 'tv', 'other'] as const;

/** How a visitor opened the short URL: by a link, or by a marked QR code. */
export const visitTriggers = ['link', 'qr'] as const;
