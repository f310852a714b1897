/** Pools of connections, by way of the proxy that the environment names. */
// the runtime's own fetch does the rest; the package's front door would load a second copy of all of it
import Agent from 'undici/lib/dispatcher/agent.js'
import { proxiesIn } from '../../protocol/contract/proxies.ts'

export type Pool = InstanceType<typeof Agent>
type Options = NonNullable<ConstructorParameters<typeof Agent>[0]>

const proxies = proxiesIn(process.env)
/** Whether this machine reaches others by way of a proxy. */
export const isProxied = proxies !== undefined
// most machines have no proxy, and load nothing of it; its part alone lacks what a sealed connection needs
const Proxied = proxies === undefined ? undefined : (await import('undici')).default.EnvHttpProxyAgent

export const newPool = (options: Options): Pool =>
  Proxied === undefined || proxies === undefined
    ? new Agent(options)
    : (new Proxied({
        ...options,
        httpProxy: proxies.HTTP_PROXY,
        httpsProxy: proxies.HTTPS_PROXY,
        noProxy: proxies.NO_PROXY,
      }) as unknown as Pool)
