/**
 * The proxy that the environment names: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. This machine itself is never
 * asked for by way of one.
 */

const NEVER = ['localhost', '.localhost', '127.0.0.1', '::1', '[::1]']

export type Proxies = { HTTP_PROXY: string; HTTPS_PROXY: string; NO_PROXY: string }

/** Undefined where no proxy is named; an empty value names none. */
export function proxiesIn(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const named = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined
  const http = named('HTTP_PROXY')
  const https = named('HTTPS_PROXY') ?? http
  if (http === undefined && https === undefined) return undefined
  return {
    HTTP_PROXY: http ?? '',
    HTTPS_PROXY: https ?? '',
    NO_PROXY: [named('NO_PROXY') ?? '', ...NEVER].filter(one => one !== '').join(','),
  }
}
