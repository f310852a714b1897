/**
 * What the compatibility kit of A2A (a2aproject/a2a-tck, branch 1.0-dev) is run against, by hand: `node test/a2a/kit.ts
 * [port]`, then the kit's `run_tck.py --sut-host http://127.0.0.1:<port>/bob --transport jsonrpc,http_json`. A hub, two
 * nodes and, before the interface, a proxy that does what the kit has no setting for: it brings the token, makes message
 * ids unique, which the kit repeats for different messages, and writes them behind the words, for the provider.
 */
import * as http from 'node:http'
import { join } from 'node:path'
import { never, openLab } from '../two-nodes/world.ts'

const port = Number(process.argv[2] ?? 9999)
const HOUR_SHARE_MS = 61_000

const lab = await openLab()
const provider = `${process.execPath} ${join(import.meta.dirname, 'provider.mjs')}`
const alice = await lab.member('alice')
const bob = await lab.member('bob', { SVC_EXEC_COMMAND: provider })
await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
const { url = '' } = await alice.handlers.a2aSet(
  { on: true, addr: '127.0.0.1:0', hosts: [`127.0.0.1:${port}`], push_hosts: ['localhost', '127.0.0.1'] },
  never,
)
const { token } = await alice.handlers.a2aToken({}, never)

let count = 0
type Said = { messageId?: string; parts?: { text?: string }[] }
function marked(body: string): string {
  let value: { params?: { message?: Said }; message?: Said }
  try {
    value = JSON.parse(body)
  } catch {
    return body
  }
  const message = value?.params?.message ?? value?.message
  const words = message?.parts?.find(part => typeof part?.text === 'string')
  if (typeof message?.messageId !== 'string' || message.messageId === '') return body
  if (words !== undefined) words.text = `${words.text} ⟦${message.messageId}⟧`
  message.messageId = `${message.messageId}~${++count}`
  return JSON.stringify(value)
}
const unmarked = (text: string) => text.replaceAll(/\s*⟦[^⟧]*⟧/g, '').replaceAll(/~\d+(?=")/g, '')

const proxy = http.createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  // an agent answers one peer so often an hour; the kit asks more often than that
  lab.hub.clock.advance(HOUR_SHARE_MS)
  const body = marked(Buffer.concat(parts).toString())
  const headers: http.OutgoingHttpHeaders = { ...request.headers, authorization: `Bearer ${token}` }
  delete headers['content-length']
  delete headers['transfer-encoding']
  if (body !== '') headers['content-length'] = Buffer.byteLength(body)
  const call = http.request(new URL(request.url ?? '/', url), { method: request.method ?? 'GET', headers })
  call.on('response', answer => {
    const { 'content-length': _, ...rest } = answer.headers
    response.writeHead(answer.statusCode ?? 500, rest)
    response.flushHeaders()
    answer.setEncoding('utf8')
    let held = ''
    answer.on('data', (text: string) => {
      held += text
      const whole = held.lastIndexOf('\n') + 1
      response.write(unmarked(held.slice(0, whole)))
      held = held.slice(whole)
    })
    answer.on('end', () => response.end(unmarked(held)))
    answer.on('close', () => response.destroy())
  })
  call.on('error', () => response.destroy())
  response.on('close', () => call.destroy())
  call.end(body)
})
proxy.listen(port, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${port}/bob\n`))
process.once('SIGINT', () => {
  proxy.closeAllConnections()
  proxy.close()
  void lab.close()
})
