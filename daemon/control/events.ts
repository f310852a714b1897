/** `GET /events`: what happens in the node as server-sent events with ids, replay from a cursor, and a heartbeat. */
import type { Timers } from '../../protocol/timers.ts'
import type { Events, NodeEvent } from '../platform/events.ts'
import type { Question, Reply } from './exchange.ts'

const HEARTBEAT_MS = 15_000
const BACKLOG_BYTES_MAX = 1024 * 1024

const frame = ({ id, type, data }: NodeEvent) =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** Streams events; a cursor that is too old is answered with `reset`, after which the client reads everything anew. */
export function serveEvents(
  { events, timers }: { events: Events; timers: Timers },
  request: Pick<Question, 'headers'>,
  response: Reply,
  url: URL,
  closing: AbortSignal,
): void {
  const cursor = request.headers['last-event-id'] ?? url.searchParams.get('since')
  const missed = cursor === null || cursor === undefined ? [] : events.since(Number(cursor))
  const onClosing = () => {
    response.end(frame({ id: events.lastId, type: 'shutdown', data: {} }))
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'keep-alive' })
  response.write('retry: 1000\n\n')
  // whoever lost its stream to a node that stops may ask for another one in time
  if (closing.aborted) {
    onClosing()
    return
  }
  if (missed === undefined) response.write(frame({ id: events.lastId, type: 'reset', data: {} }))
  else for (const event of missed) response.write(frame(event))
  const stop = events.listen(event => {
    // A reader that does not keep up is cut off and replays from its cursor.
    if (response.writableLength > BACKLOG_BYTES_MAX) response.destroy()
    else response.write(frame(event))
  })
  const heartbeat = timers.every(HEARTBEAT_MS, () => response.write(': alive\n\n'))
  closing.addEventListener('abort', onClosing)
  response.on('close', () => {
    stop()
    timers.clear(heartbeat)
    closing.removeEventListener('abort', onClosing)
  })
}
