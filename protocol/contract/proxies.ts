/**
 * The proxy that the environment names: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. This machine itself is never
 * asked for by way of one.
 */

import { Failure } from '../encoding/errors.ts'

const NEVER = ['localhost', '.localhost', '127.0.0.1', '::1', '[::1]']

/** A variable that should name a proxy does not; its value may hold a password and is not shown. */
export class ProxyInvalid extends Failure {
  override name = 'ProxyInvalid'
  constructor(variable: string) {
    super(
      `${variable} of the environment is no address of a proxy; write it as http://<host>:<port>, or unset it`,
    )
  }
}

function isAddress(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
}

/** Values of the variables; an empty one names no proxy, and NO_PROXY always has this machine. */
export type Proxies = { HTTP_PROXY: string; HTTPS_PROXY: string; NO_PROXY: string }

/** Undefined where no proxy is named; an empty value names none. Throws {@link ProxyInvalid}. */
export function proxiesIn(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const named = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined
  const address = (name: string): string | undefined => {
    const value = named(name)
    if (value !== undefined && !isAddress(value)) throw new ProxyInvalid(name)
    return value
  }
  const http = address('HTTP_PROXY')
  const https = address('HTTPS_PROXY') ?? http
  if (http === undefined && https === undefined) return undefined
  return {
    HTTP_PROXY: http ?? '',
    HTTPS_PROXY: https ?? '',
    NO_PROXY: [named('NO_PROXY') ?? '', ...NEVER].filter(one => one !== '').join(','),
  }
}
