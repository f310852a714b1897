/**
 * Pools of connections, by way of the proxy that the environment names: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either
 * case. This machine itself is never asked for by way of one.
 */
// the runtime's own fetch does the rest; the package's front door would load a second copy of all of it
import Agent from 'undici/lib/dispatcher/agent.js'

export type Pool = InstanceType<typeof Agent>
type Options = NonNullable<ConstructorParameters<typeof Agent>[0]>

const NEVER = ['localhost', '.localhost', '127.0.0.1', '::1']

/** What the environment says of proxies; an empty value is none. */
export function proxiesIn(env: Readonly<Record<string, string | undefined>>) {
  const named = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined
  const httpProxy = named('HTTP_PROXY')
  const httpsProxy = named('HTTPS_PROXY') ?? httpProxy
  if (httpProxy === undefined && httpsProxy === undefined) return undefined
  return {
    httpProxy: httpProxy ?? '',
    httpsProxy: httpsProxy ?? '',
    noProxy: [named('NO_PROXY') ?? '', ...NEVER].filter(one => one !== '').join(','),
  }
}

const proxies = proxiesIn(process.env)
// most machines have no proxy, and load nothing of it
const Proxied =
  proxies === undefined ? undefined : (await import('undici/lib/dispatcher/env-http-proxy-agent.js')).default

export const newPool = (options: Options): Pool =>
  Proxied === undefined ? new Agent(options) : (new Proxied({ ...options, ...proxies }) as unknown as Pool)
