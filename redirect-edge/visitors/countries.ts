import { readFile } from 'node:fs/promises';
import { Reader, type Response } from 'mmdb-lib';
import { isCountry } from '../../schemas/countries.js';
import { BoundedMap } from '../../ops/platform/collections.js';
import { isPublic } from '../../ops/platform/networks/network-guard.js';
import { ConfigError } from '../../ops/platform/errors.js';
import type { Logger } from '../../ops/platform/logging.js';

/** Returns the country of a public address, ISO 3166-1 alpha-2; `null` if it is unknown. */
export type Countries = (address: string) => string | null;

/** A record in the formats of GeoLite2, DB-IP, ip-location-db and IPinfo. */
interface Network {
  readonly country?: string | { readonly iso_code?: string };
  readonly country_code?: string;
}

const codeIn = ({ country, country_code }: Network): string | null => {
  const code = country_code ?? (typeof country === 'object' ? country.iso_code : country) ?? '';
  return isCountry(code) ? code : null;
};

/** Decoded records in the cache. Decoding is half of a look-up, and there are about 250 countries. */
const maxDecoded = 1_000;

/** Opens an MMDB file with countries. @throws ConfigError */
export const openCountries = async (file: string | null, logger: Logger): Promise<Countries> => {
  if (file === null) return () => null;
  let reader: Reader<Response>;
  try {
    reader = new Reader(await readFile(file), { cache: new BoundedMap(maxDecoded) });
  } catch (cause) {
    const { message } = cause as Error;
    throw new ConfigError(`GEOIP_FILE ${file} is no MMDB file: ${message}`, { cause });
  }
  let damaged = false;
  return (address) => {
    // A look-up of an IPv6 address in an IPv4-only tree gives a wrong result.
    if (damaged || (reader.metadata.ipVersion === 4 && address.includes(':'))) return null;
    // Databases of whois records assign countries to private addresses: the bundled one has 192.168.0.0/16 in Australia.
    if (!isPublic(address)) return null;
    try {
      return codeIn((reader.get(address) ?? {}) as Network);
    } catch (err) {
      damaged = true;
      logger.error({ err, file }, 'the file of countries is damaged: visits have no country');
      return null;
    }
  };
};
