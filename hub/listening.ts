/** One listener of a hub: the lines that it speaks, what its requests share, and where it is. */
import type { Timers } from '../protocol/timers.ts'
import { bindServer } from './bind.ts'
import type { Wire } from './config.ts'
import type { About } from './core/about.ts'
import type { Hub } from './core/hub.ts'
import type { Line } from './http/line.ts'
import { ownNames } from './http/own-names.ts'
import { AS_NAMED } from './http/reply.ts'
import { PublicServer } from './http/server.ts'
import type { Shares } from './http/shares.ts'
import type { StaticFolder } from './http/static-folder.ts'
import { Surplus } from './http/surplus.ts'
import { openLines } from './lines.ts'
import type { Log } from './log.ts'
import type { OperatorListener } from './operator/listener.ts'
import { DocumentPages } from './pages/documents.ts'
import type { Place } from './places-config.ts'

export type Listening = {
  line: Line
  /** What all requests of this listener share. */
  shares: Shares
  listener: PublicServer
  surplus: Surplus
  /** Its address, as a URL. */
  url: string
  baseUrl: string
}

export type ListeningParts = {
  /** Whether the hub speaks one wire alone. */
  isAlone: boolean
  hub: Hub
  log: Log
  about: About | undefined
  site: StaticFolder | undefined
  guestScript: string | undefined
  watched: OperatorListener | undefined
}

/** Opens a listener; resolves once it is bound. */
export async function openListening(
  wires: readonly [Wire, ...Wire[]],
  { listen, baseUrl: configured }: Place,
  { isAlone, hub, log, about = {}, site, guestScript, watched }: ListeningParts,
): Promise<Listening> {
  const { limits, memory, timers, now } = hub.context
  let baseUrl = configured ?? ''
  const nameFault = ownNames({ baseUrl: configured, listen: listen.host })
  const { line, shares } = openLines(wires, {
    hub,
    baseUrl: () => baseUrl,
    nameFault,
    about,
    hasDocuments: site !== undefined,
    guestScript,
    isAlone,
    onError: (id, error) => log.error('request failed', { id, error: String(error) }),
  })
  const around = {
    nameFault,
    buckets: memory.rates.of('documents', limits.requestRate),
    now,
    unread: shares.unread,
  }
  const answered = site === undefined ? line.handle : besides(line.handle, new DocumentPages(site, around))
  const handle = watched === undefined ? answered : counted(answered, watched, timers)
  const surplus = new Surplus(timers, log.warn, of => watched?.metrics.closedUnheard(of))
  const listener = new PublicServer(
    limits,
    (request, response) => {
      for (const [name, value] of Object.entries(AS_NAMED)) response.setHeader(name, value)
      void handle(request, response)
    },
    line.answerUnparsed,
    { surplus, timers, now },
  )
  const url = await bindServer(listener.server, listen)
  if (baseUrl === '') baseUrl = url
  return { line, shares, listener, surplus, url, baseUrl }
}

/** Lets what is under way have its answer; nothing new comes in. */
export async function closeListening({ listener, surplus, shares }: Listening): Promise<void> {
  await listener.close()
  surplus.tell()
  shares.close()
}

/** The same line, with the documents beside it. */
function besides(handle: Line['handle'], documents: DocumentPages): Line['handle'] {
  return (request, response) =>
    DocumentPages.takes(request) ? documents.handle(request, response) : handle(request, response)
}

/** The same line, with every answer counted under the row of its route. */
function counted(handle: Line['handle'], { metrics }: OperatorListener, timers: Timers): Line['handle'] {
  return async (request, response) => {
    const startedMs = timers.monotonic()
    const answered = await handle(request, response)
    metrics.answered({ ...answered, status: response.statusCode, ms: timers.monotonic() - startedMs })
    return answered
  }
}
