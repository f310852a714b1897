/** The events of a node, as its control interface streams them. */
import * as http from 'node:http'
import { isControlCode } from '../../protocol/control/codes.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { CommandFailed, type Io } from '../io.ts'
import { type Entrance, explain, findEntrance, type Target } from './control.ts'

export type StreamedEvent = { id: string | null; event: string; data: unknown }

type Options = {
  since?: string | undefined
  signal: AbortSignal
  onOpen?: () => void
  /** The node says in between that it is there. */
  onHeartbeat?: () => void
}

/** Calls `onEvent` until the node ends the stream or the signal comes; fails as a call does where there is no node. */
export async function streamEvents(
  io: Io,
  target: Target,
  options: Options,
  onEvent: (event: StreamedEvent) => void,
): Promise<void> {
  try {
    await stream(await findEntrance(io, target), target, options, onEvent)
  } catch (error) {
    throw explain(io, target, error)
  }
}

async function stream(
  { socket, headers }: Entrance,
  target: Target,
  options: Options,
  onEvent: (event: StreamedEvent) => void,
): Promise<void> {
  const { since, signal } = options
  const path = since === undefined ? '/events' : `/events?since=${encodeURIComponent(since)}`
  const url = `http://${target.address}${path}`
  await new Promise<void>((resolve, reject) => {
    const request = http.get(
      url,
      { headers, agent: false, signal, ...present({ socketPath: socket }) },
      response => {
        if (response.statusCode !== 200) {
          refusalOf(response).then(reject, reject)
          return
        }
        options.onOpen?.()
        let pending = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          pending += chunk
          const blocks = pending.split('\n\n')
          pending = blocks.pop() as string
          if (blocks.some(block => block.startsWith(':'))) options.onHeartbeat?.()
          for (const event of blocks.flatMap(eventIn)) onEvent(event)
        })
        response.on('end', resolve)
        response.on('error', error => (signal.aborted ? resolve() : reject(error)))
      },
    )
    request.on('error', error => {
      if (signal.aborted || systemCode(error) === 'ABORT_ERR') resolve()
      else reject(error)
    })
  })
}

/** What the node said instead of events. */
async function refusalOf(response: http.IncomingMessage): Promise<Error> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const said = JSON.parse(Buffer.concat(chunks).toString()) as { reason?: unknown; error?: unknown }
  const { reason, error } = said
  if (typeof error !== 'string' || typeof reason !== 'string' || !isControlCode(reason))
    return new CommandFailed(`the node answered with HTTP ${response.statusCode}`, 'svc help watch')
  return new OperationRefused(reason, error, 'svc help watch')
}

function eventIn(block: string): StreamedEvent[] {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart())
  }
  const data = fields.get('data')
  if (data === undefined) return []
  return [
    {
      id: fields.get('id') ?? null,
      event: fields.get('event') ?? 'message',
      data: JSON.parse(data) as unknown,
    },
  ]
}
