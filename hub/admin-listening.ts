/** The listener of the operator's surface, which serves nothing else; off unless it is configured. */
import type { Timers } from '../protocol/timers.ts'
import { bindServer, isLocal } from './bind.ts'
import type { Hub } from './core/hub.ts'
import { ownNames } from './http/own-names.ts'
import { AS_NAMED } from './http/reply.ts'
import { PublicServer } from './http/server.ts'
import { Shares } from './http/shares.ts'
import { Surplus } from './http/surplus.ts'
import type { Log } from './log.ts'
import type { AdminPlace } from './places-config.ts'
import { type AdminTokens, weaknessOf } from './v1/admin/guard.ts'
import { adminRows, openAdminLine } from './v1/admin/line.ts'

const HOUR_MS = 3_600_000
const CONNECTIONS_MAX = 64
/** For one address; of whoever sits behind a proxy, all together. */
const CONNECTIONS_OF_ADDRESS_MAX = 32

export type AdminGiven = {
  tokens: AdminTokens
  /** The built page; undefined where this build has none. */
  page: () => string | undefined
}
export type AdminListening = {
  /** Where the page is. */
  url: string
  makeLast(): void
  close(): Promise<void>
}

/** Opens the listener; resolves once it is bound. */
export async function openAdminListening(
  { listen, base }: AdminPlace,
  given: AdminGiven,
  { hub, log }: { hub: Hub; log: Log },
): Promise<AdminListening> {
  const { limits, memory, timers } = hub.context
  const shares = new Shares(limits, [adminRows(base)], { rates: memory.rates, timers })
  const onError = (id: string, error: unknown) => log.error('request failed', { id, error: String(error) })
  const nameFault = ownNames({ baseUrl: undefined, listen: listen.host })
  const line = openAdminLine({ hub, base, nameFault, onError, ...given }, shares)
  const surplus = new Surplus(timers, log.warn, () => undefined)
  const connections = {
    connectionsMax: CONNECTIONS_MAX,
    connectionsPerAddressMax: CONNECTIONS_OF_ADDRESS_MAX,
  }
  const listener = new PublicServer(
    { ...limits, ...connections },
    (request, response) => {
      for (const [name, value] of Object.entries(AS_NAMED)) response.setHeader(name, value)
      void line.handle(request, response)
    },
    line.answerUnparsed,
    { surplus, timers },
  )
  const url = `${await bindServer(listener.server, listen)}${base}`
  const stopWarning = keepWarning(given.tokens.admin, timers, log)
  if (!isLocal(listen.host))
    log.warn('the surface of the operator can be reached from other machines; put TLS in front of it', {
      admin: url,
    })
  return {
    url,
    makeLast: () => listener.makeLast(),
    async close() {
      stopWarning()
      await listener.close()
      surplus.tell()
      shares.close()
    },
  }
}

/** Says at once and every hour that the token protects little. */
function keepWarning(token: string, timers: Timers, log: Log): () => void {
  const why = weaknessOf(token)
  if (why === undefined) return () => undefined
  const warn = () => log.warn(`${why}, so anybody may guess it; set another one and restart the hub`, {})
  warn()
  const timer = timers.every(HOUR_MS, warn)
  timer.unref()
  return () => timers.clear(timer)
}
