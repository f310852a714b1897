/** What a server tells its client unasked: resources that changed, mail of contacts, and whether the node is there. */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
} from '@modelcontextprotocol/server'
import { channelMessage } from './channel.ts'
import type { Era } from './client.ts'
import { readerOf, STATUS_URI, threadUri } from './resources.ts'
import type { NodeLink } from './tool.ts'
import { watch } from './watch.ts'

const SUBSCRIPTIONS_MAX = 1_000
const CHANNEL = 'notifications/claude/channel'

/** Tells the client what comes from others: resources it subscribed to, its channel, and its log. */
export function notifyOf(server: Server, era: Era, link: NodeLink, has: (tool: string) => boolean): void {
  const isWanted = era === 'legacy' ? subscriptionsOf(server) : () => true
  const tell = (sending: Promise<void>) => void sending.catch(() => {})
  const updated = (uri: string) => {
    if (isWanted(uri)) tell(server.sendResourceUpdated({ uri }))
  }
  const log = (level: 'info' | 'warning', data: string) => {
    // there a log line belongs to the request that asks for it
    if (era === 'legacy') tell(server.sendLoggingMessage({ level, logger: 'svc', data }))
  }
  const begin = () => {
    server.onclose = watch(link, {
      task(item) {
        updated(threadUri(item.interaction_id))
        const params = channelMessage(item, has)
        if (params !== undefined) tell(server.notification({ method: CHANNEL, params }))
      },
      status: () => updated(STATUS_URI),
      node: isThere =>
        isThere ? log('info', 'the node answers again') : log('warning', 'the node does not answer'),
    })
  }
  if (era === 'legacy') server.oninitialized = begin
  else begin()
}

/** Those that a client of the earlier era subscribed to one by one; later the SDK keeps them itself. */
function subscriptionsOf(server: Server): (uri: string) => boolean {
  const subscribed = new Set<string>()
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (readerOf(uri) === undefined) throw new ResourceNotFoundError(uri, `there is no resource ${uri}`)
    if (subscribed.size >= SUBSCRIPTIONS_MAX)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidRequest,
        `at most ${SUBSCRIPTIONS_MAX} subscriptions are kept`,
      )
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })
  return uri => subscribed.has(uri)
}
