/** `svc watch`: the node's events as lines of JSON. */
import * as http from 'node:http'
import { present } from '../../protocol/encoding/present.ts'
import { connect, type Door, findDoor } from '../client/control.ts'
import type { Run } from '../command.ts'
import { CommandFailed, type Io, jsonText, messageOf } from '../io.ts'
import { flags } from './values.ts'

export const watch: Run = async (io, input) => {
  const control = connect(io, input)
  const since = flags(input, '--since')[0]
  const path = since === undefined ? '/events' : `/events?since=${encodeURIComponent(since)}`
  await stream(io, `http://${control.target.address}${path}`, await findDoor(io, control.target))
  return 0
}

/** Reads server-sent events until the node ends or the reader goes away. */
function stream(io: Io, url: string, { socket, headers }: Door): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false, ...present({ socketPath: socket }) }, response => {
      if (response.statusCode !== 200) {
        refusalOf(response).then(reject, reject)
        return
      }
      let pending = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        pending += chunk
        const blocks = pending.split('\n\n')
        pending = blocks.pop() as string
        for (const block of blocks) printEvent(io, block)
      })
      response.on('end', resolve)
      response.on('error', reject)
    })
    request.on('error', error =>
      reject(new CommandFailed(`the node does not answer: ${messageOf(error)}`, 'svc up')),
    )
    io.output.lost.addEventListener('abort', () => {
      request.destroy()
      resolve()
    })
  })
}

/** What the node said instead of events. */
async function refusalOf(response: http.IncomingMessage): Promise<CommandFailed> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const { error } = JSON.parse(Buffer.concat(chunks).toString()) as { error?: unknown }
  const sentence = typeof error === 'string' ? error : `the node answered with HTTP ${response.statusCode}`
  return new CommandFailed(sentence, 'svc help watch')
}

function printEvent(io: Io, block: string): void {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart())
  }
  const data = fields.get('data')
  if (data === undefined) return
  const event = {
    id: fields.get('id') ?? null,
    event: fields.get('event') ?? 'message',
    data: JSON.parse(data) as unknown,
  }
  io.out(`${jsonText(event)}\n`)
}
